import { emitDamage, emitOtherRuns, type RunContext } from '../context.js';
import type { LedgerlakeError } from '../../core/errors.js';
import { exportAfterRun, type ExportOptions } from '../export/export-after-run.js';
import { printable } from '../../core/printable.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { grid } from '../../core/text/width.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { unknownPipeline } from '../configuration/chosen-pipelines.js';
import { refuseUnknownAccount } from '../configuration/account.js';
import { countsOf } from '../row-counts.js';
import { existingLake } from '../../lake/existing-lake.js';
import { Lake } from '../../lake/lake.js';
import { acquireLease } from '../../lake/upkeep/leases.js';
import type { Store } from '../../lake/store/store.js';
import { vacuumLake } from '../../lake/upkeep/vacuum.js';
import { customPipelinesOf, familiesOf, type Family, type Tabled } from '../../core/columns/table.js';
import type { Limits } from '../../lake/files/workspace.js';

/** What `compact` and `rebuild` are asked for. */
export interface MaintenanceOptions extends ExportOptions {
  /** Names; empty for all. */
  readonly pipelines: readonly string[];
  /** Undefined: every account of the lake. */
  readonly account: string | undefined;
  /** The configuration file, if that was said: for commands that are printed. */
  readonly config?: string | undefined;
  /** In the place of the one that `lake` names. */
  readonly store?: Store;
  /** How many hours files stay that the command replaces; undefined: as the lake has it. */
  readonly retentionHours?: number | undefined;
  /** What the command may hold in memory, where it isn't its default. */
  readonly limits?: Limits;
}

/** What a command changes, and with what. */
export interface MaintenanceRun extends Pick<RunContext, 'clock' | 'signal' | 'emit'> {
  readonly lake: Lake;
  readonly families: readonly Family[];
  readonly account: string | undefined;
  readonly limits: Limits;
  /** Figures of one more family, which count for the summary as they are by then, also where the command fails. */
  readonly begin: (family: Family) => FamilySummary;
}

/** What `compact` or `rebuild` has done to one pipeline's tables. */
export interface FamilySummary {
  readonly pipeline: string;
  /** Merges, or files of the main table that were re-derived. */
  slices: number;
  /** Rows gone through, by table. */
  readonly rows: Map<string, number>;
  /** Files written, and their bytes. */
  files: number;
  bytes: number;
  /** Files that they replace, and their bytes. */
  replacedFiles: number;
  replacedBytes: number;
  seconds: number;
}

/** Which of the commands it is. */
interface MaintenanceCommand {
  readonly command: string;
  /** Whose tables it can change. */
  readonly pipelines: readonly Tabled[];
  readonly limits: Limits;
  /** `Compacted`. */
  readonly title: string;
  /** Printed where no file was written. */
  readonly nothing: (summaries: readonly FamilySummary[]) => string;
  /** Heading of the number of slices. */
  readonly slices: string;
  /** Told of the lake as soon as it is open: what takes long to start may start. */
  readonly opened?: (run: Pick<MaintenanceRun, 'lake' | 'families' | 'account'>) => void;
  readonly run: (run: MaintenanceRun) => Promise<void>;
}

/**
 * Opens the lake for a change of its own files, clears what dead runs left, runs the command, clears once more and prints a
 * summary, also of a command that failed. A lake that holds nothing is left alone.
 *
 * @throws LedgerlakeError USAGE for an unknown pipeline or account and where there is no lake, and what the command throws
 */
export async function maintain(
  options: MaintenanceOptions,
  context: RunContext,
  { command, pipelines, limits, title, nothing, slices, opened, run }: MaintenanceCommand,
): Promise<void> {
  const { clock, print, printJson, emit, signal } = context;
  const { account } = options;
  const began = clock.now();
  const secondsSince = (): number => (clock.now() - began) / 1000;
  context.setProvisionalSummary?.(() => ({ lake: options.lake, seconds: secondsSince(), pipelines: {} }));
  const lake = await (options.store === undefined
    ? existingLake(options.lake, tables, clock)
    : Lake.open(options.store, tables, clock));
  const accounts = lake.accounts();
  const known = [...pipelines, ...customPipelinesOf(lake.tables.map(({ schema }) => schema))];
  const families = chosenFamilies(options.pipelines, known, accounts);
  refuseUnknownAccount(account, accounts, options.lake);
  const summaries: FamilySummary[] = [];
  const begin = ({ pipeline }: Family): FamilySummary => {
    const none = { slices: 0, files: 0, bytes: 0, replacedFiles: 0, replacedBytes: 0, seconds: 0 };
    const summary = { pipeline, ...none, rows: new Map<string, number>() };
    summaries.push(summary);
    return summary;
  };
  emit({
    ...{ event: 'run-started', command, account: account ?? null, lake: options.lake },
    ...{ pipelines: families.map(({ pipeline }) => pipeline), from: null, to: null },
  });
  emitDamage(lake, emit, true);
  const end = (status: 'done' | 'failed'): void => {
    const seconds = secondsSince();
    emit({ event: 'run-ended', status, seconds });
    const written = summaries.filter(({ files }) => files > 0);
    if (status === 'done' && written.length === 0) print(nothing(summaries));
    else {
      const heading =
        status === 'done'
          ? `${title} ${printable(options.lake)}`
          : `Not done: ${printable(options.lake)}; what is listed here is in the lake and stays`;
      print(['', heading, '', ...summaryGrid(written, slices), ''].join('\n'));
    }
    printJson({ status, lake: options.lake, seconds, pipelines: summaryObject(summaries) });
  };
  if (accounts.size === 0) {
    end('done');
    return;
  }

  opened?.({ lake, families, account });
  const names = families.map(({ pipeline }) => pipeline);
  const lease = await acquireLease(lake.store, clock, { command, account, pipelines: names });
  try {
    emitOtherRuns(lease, account, emit);
    for (const table of lake.tables) {
      for (const path of await table.dropWrongCheckpoints()) {
        emit({
          event: 'message',
          message: `removed ${path}, which contradicted its commits; a new one replaces it`,
        });
      }
    }
    await lake.setRetention(options.retentionHours);
    let unexported: LedgerlakeError | undefined;
    try {
      // What a dead run left half-done is in the way of what it was about to replace.
      await vacuumLake(lake, lease, { clock, emit });
      await run({ lake, families, clock, signal, emit, account, limits: options.limits ?? limits, begin });
      await vacuumLake(lake, lease, { clock, emit });
      lease.cleared();
    } finally {
      unexported = await exportAfterRun(lake, options, context);
    }
    if (unexported !== undefined) throw unexported;
  } catch (error) {
    end('failed');
    throw error;
  } finally {
    await lease.release();
  }
  end('done');
}

function chosenFamilies(
  names: readonly string[],
  pipelines: readonly Tabled[],
  accounts: ReadonlySet<string>,
): Family[] {
  for (const name of names) {
    if (!pipelines.some((pipeline) => pipeline.name === name)) throw unknownPipeline(name, pipelines, accounts);
  }
  return familiesOf(pipelines.filter(({ name }) => names.length === 0 || names.includes(name)));
}

/** For people: a line for each pipeline that was changed. */
function summaryGrid(summaries: readonly FamilySummary[], slices: string): string[] {
  const headings = ['pipeline', slices, 'files', 'after', 'size', 'after', 'time'];
  const rows = summaries.map((of) => [
    printable(of.pipeline),
    formatCount(of.slices),
    formatCount(of.replacedFiles),
    formatCount(of.files),
    formatBytes(of.replacedBytes),
    formatBytes(of.bytes),
    `${of.seconds.toFixed(1)} s`,
  ]);
  return grid([headings, ...rows]);
}

/** For programs: the keys that every command's summary has. */
function summaryObject(summaries: readonly FamilySummary[]): object {
  return Object.fromEntries(
    summaries.map(({ pipeline, rows, slices, ...files }) => {
      const requests = { requests: 0, retries: 0, throttled: 0, pages: 0 };
      return [pipeline, { slices, ...requests, ...countsOf(rows), ...files, rows: Object.fromEntries(rows) }];
    }),
  );
}
