import { emitDamagedCheckpoints } from '../context.js';
import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { tables } from '../../sources/finances/model/tables.js';
import { existingLake } from '../../lake/existing-lake.js';
import { Lake } from '../../lake/lake.js';
import { acquireLease } from '../../lake/upkeep/leases.js';
import type { Store } from '../../lake/store/store.js';
import { vacuumLake } from '../../lake/upkeep/vacuum.js';
import { familiesOf, type Family, type Tabled } from '../../core/columns/table.js';
import { type Work, workJson, workText, type WorkReport, type WorkWords } from './work-summary.js';
import type { Limits } from '../../lake/files/workspace.js';

/** What `compact` and `rebuild` are asked for. */
export interface MaintenanceOptions {
  readonly lake: string;
  /** Names; empty for all. */
  readonly pipelines: readonly string[];
  /** Undefined: every account of the lake. */
  readonly account: string | undefined;
  readonly json: boolean;
  /** In the place of the one that `lake` names. */
  readonly store?: Store;
  /** What the work may hold in memory, where it isn't the default. */
  readonly limits?: Limits;
}

interface Surroundings {
  readonly clock: Clock;
  readonly print: (text: string) => void;
  readonly emit: Emit;
}

/** Which of the commands it is. */
interface MaintenanceKind {
  readonly command: string;
  readonly words: WorkWords;
  /** Whose tables it can work on. */
  readonly pipelines: readonly Tabled[];
}

/** Does the work on the families of the pipelines that were asked for, notes it per family, and goes on until it fails. */
type Step = (lake: Lake, families: readonly Family[], work: Map<Family, Work>) => Promise<void>;

/**
 * Opens the lake for work on its own files, clears what dead runs left, does the work, clears again and prints a summary,
 * also of work that failed. A lake that holds nothing is left alone.
 *
 * @throws LedgerlakeError USAGE for an unknown pipeline or account and where there is no lake, and what the work throws
 */
export async function maintain(
  options: MaintenanceOptions,
  { clock, print, emit }: Surroundings,
  { command, words, pipelines }: MaintenanceKind,
  step: Step,
): Promise<void> {
  const lake = await (options.store === undefined
    ? existingLake(options.lake, tables, clock)
    : Lake.open(options.store, tables, clock));
  const families = chosenFamilies(options.pipelines, [...pipelines, ...ownPipelines(lake)]);
  const accounts = lake.accounts();
  if (options.account !== undefined && accounts.size > 0 && !accounts.has(options.account)) {
    throw usageError(
      `expected --account to be one that ${options.lake} holds (${[...accounts].toSorted().join(', ')}), got ${JSON.stringify(options.account)}`,
    );
  }
  const began = clock.now();
  const work = new Map<Family, Work>();
  emit({
    ...{ event: 'run-started', command, account: options.account ?? null, lake: options.lake },
    ...{ pipelines: families.map(({ pipeline }) => pipeline), from: null, to: null },
  });
  emitDamagedCheckpoints(lake.tables, emit);
  const end = (failure: unknown): void => {
    const report: WorkReport = {
      lake: options.lake,
      seconds: (clock.now() - began) / 1000,
      works: [...work.values()],
      failure,
    };
    emit({ event: 'run-ended', status: failure === undefined ? 'done' : 'failed', seconds: report.seconds });
    print(workText(report, words));
    if (options.json) print(workJson(report));
  };
  if (accounts.size === 0) {
    end(undefined);
    return;
  }

  const lease = await acquireLease(lake.store, clock);
  try {
    for (const table of lake.tables) await table.dropWrongCheckpoints();
    // What a dead run left half-done stands in the way of what it was about to replace.
    await vacuumLake(lake, lease, clock);
    await step(lake, families, work);
    await vacuumLake(lake, lease, clock);
    lease.cleared();
  } catch (error) {
    end(error);
    throw error;
  } finally {
    await lease.release();
  }
  end(undefined);
}

/** The tables that users' own pipelines have filled. */
function ownPipelines(lake: Lake): Tabled[] {
  return lake.tables.flatMap(({ schema }) =>
    schema.ownPipeline === undefined ? [] : [{ name: schema.ownPipeline, tables: [schema] }],
  );
}

function chosenFamilies(names: readonly string[], pipelines: readonly Tabled[]): Family[] {
  for (const name of names) {
    if (pipelines.some((pipeline) => pipeline.name === name)) continue;
    const known = pipelines.map((pipeline) => pipeline.name).join(', ');
    throw usageError(`expected a pipeline (${known}), got ${JSON.stringify(name)}`);
  }
  return familiesOf(pipelines.filter(({ name }) => names.length === 0 || names.includes(name)));
}
