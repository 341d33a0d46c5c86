import { randomBytes } from 'node:crypto';
import { LedgerlakeError } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';
import { monthRange, type Window } from '../../core/windows.js';
import { existingStore, refuseOther, type LakeAddress } from '../../lake/existing-lake.js';
import { CatalogFiles } from '../../lake/catalog/catalog-files.js';
import type { LoadKey } from '../../lake/catalog/load-key.js';
import { runName } from '../../lake/catalog/change.js';
import { defaultLimits, withWorkspace } from '../../lake/files/workspace.js';
import { Lake } from '../../lake/lake.js';
import { plannedStore } from '../../lake/store/planned-store.js';
import type { Store } from '../../lake/store/store.js';
import { backedUpLake } from '../../lake/upkeep/backup-notes.js';
import { acquireExclusiveLease, copyUnfinished, unfinishedCopy } from '../../lake/leases.js';
import { noteRequestedRanges, readRequestedRanges, type RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import { repairCatalog, type RepairStep } from '../../lake/upkeep/repair-catalog.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { reportLimits } from '../../sources/finances/settlement-reports/report-operations.js';
import { roles } from '../../../pipelines/all-pipelines.js';
import { catalogVersion } from '../catalog-version.js';
import { underLease, type CommandResult } from '../command-result.js';
import { commandIn } from '../command-text.js';
import type { CommandContext } from '../context.js';
import { storedParts } from '../coverage/stored-pipelines.js';
import { rederiveEntries } from '../maintenance/rebuild-lake.js';
import { adoptableFiles, adoptFiles, adoptionTexts, removeDerivedRemains, type Adoption } from './adopted-files.js';
import {
  damagedFiles,
  fateText,
  loadText,
  misdescribedFiles,
  takeOut,
  takeOutKeys,
  takeOutUnloaded,
  type DamagedData,
  type OddLoad,
} from './damaged-files.js';

export interface RepairOptions extends LakeAddress {
  /** The configuration file, for printed commands; undefined: they don't name it. */
  readonly config?: string | undefined;
  /** Skips the confirmation. */
  readonly yes: boolean;
}

/** What is to be repaired. */
interface RepairPlan {
  readonly steps: readonly RepairStep[];
  readonly lost: readonly number[];
  /** What is to be loaded again. */
  readonly requested: readonly RequestedAgain[];
  readonly damaged: readonly DamagedData[];
  /** Load keys that contradict each other, or the files. */
  readonly loads: readonly OddLoad[];
  /** Files of a lost catalog. */
  readonly adoption: Adoption;
}

/**
 * `ledgerlake repair`: restores a damaged catalog from its publications and these from the catalog, and takes damaged data files out, so
 * that the next run loads them again. Before it asks it prints what it does and which rows are lost for good; without `yes` and a
 * terminal nothing is changed.
 *
 * @returns the result, with exit code 1 where something is to be repaired and nothing was
 * @throws LedgerlakeError USAGE where there is no lake, LAKE_CONFLICT while another run is active, LAKE_STORE, LAKE_LOG, STOPPED
 */
export async function repair(options: RepairOptions, context: CommandContext): Promise<CommandResult> {
  const { clock } = context;
  const store = await existingStore(options, context);
  await refuseOther(store, options, tables);
  const run = runName(-1, randomBytes(8).toString('hex'));
  const lease = await acquireExclusiveLease({ store, run }, clock, { command: 'repair', pipelines: [] });
  return underLease(lease, async () => {
    try {
      return await repairIn(store, run, options, context);
    } finally {
      lease.cleared();
    }
  });
}

/** Repairs a lake under a lease of the run. */
async function repairIn(
  store: Store,
  run: string,
  options: RepairOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { clock, print, confirm } = context;
  const source = await backedUpLake(store, options.lake, await new CatalogFiles(store).newestListed(-1));
  const plans: RepairPlan[] = [];
  let lake: Lake | undefined;
  // Damaged files and lost commits hide what else is wrong.
  for (let round = 1, mayHaveMore = true; mayHaveMore && round <= mostRounds; round++) {
    const planned = plannedStore(store);
    const found = await planOf(planned, context);
    const plan = source === undefined ? found : backupPlan(found, options.lake, source);
    const isWhole = changesOf(plan) === 0;
    if (isWhole && round > 1) break;
    plans.push(plan);
    print(planText(options, plan, clock.now()));
    if (isWhole) break;
    const isConfirmed = options.yes || (await confirm?.(`Repair ${options.lake}?`)) === true;
    if (!isConfirmed) return { text: '', summary: repairSummary('failed', options, plans, lake), exitCode: 1 };
    await planned.apply();
    await noteGaps(store, plan, run, clock.now());
    lake = await repairFiles(store, plan, context);
    mayHaveMore = hidesMore(found);
  }
  const text = lake === undefined ? '' : `Repaired ${printable(options.lake)}: ${afterText(options, plans)}\n`;
  return { text, summary: repairSummary('done', options, plans, lake) };
}

function changesOf({ steps, damaged, loads, adoption: { files, aside } }: RepairPlan): number {
  return steps.length + damaged.length + loads.length + files.length + aside.length;
}

/** A repair ends after as many rounds, also where a fault comes back. */
const mostRounds = 3;

/** Whether a lake may have further faults, which show once these are repaired. */
function hidesMore({ damaged, lost, adoption }: RepairPlan): boolean {
  return damaged.length + lost.length + adoption.files.length > 0;
}

/**
 * What is repaired in a backup: its catalog. Its rows are those of its lake.
 *
 * @throws LedgerlakeError LAKE_STORE where rows would be taken out
 */
function backupPlan(plan: RepairPlan, backup: string, source: string): RepairPlan {
  const { steps, lost, damaged, loads, adoption } = plan;
  const taken = damaged.length + loads.length + adoption.files.length;
  if (lost.length === 0 && (taken === 0 || steps.length > 0)) return { ...plan, requested: [], damaged: [], loads: [] };
  const verify = commandIn({ lake: backup }, 'ledgerlake verify');
  const [found, remedy] =
    lost.length === 0
      ? [formatCount(taken, 'damaged part'), `\`${verify}\` names the commands that copy again`]
      : [formatCount(lost.length, 'lost commit'), 'back the lake up to another place'];
  throw new LedgerlakeError(
    'LAKE_STORE',
    `expected a whole backup of ${source} at ${backup}, got ${found}; repair takes no rows out of a backup: ${remedy}`,
  );
}

async function planOf(store: Store, context: CommandContext): Promise<RepairPlan> {
  const { clock, signal } = context;
  const { lake, steps, lost, gaps } = await repairCatalog(store, tables, clock);
  // Its files belong to the lake that is copied: adopted, they would be another one.
  const copying = lake.snapshot.isEmpty ? await unfinishedCopy(store, clock) : undefined;
  if (copying !== undefined) throw copyUnfinished(store, copying);
  return withWorkspace(defaultLimits, store, async (workspace) => {
    const damaged = await damagedFiles(lake, { clock, signal }, workspace);
    const isLost = lake.snapshot.isEmpty || lost.length > 0;
    const adoption = isLost ? await adoptableFiles(lake, workspace) : { files: [], aside: [] };
    // Where files or commits are damaged, what `verify` finds besides may follow from that.
    const isWhole = damaged.length === 0 && !isLost;
    const wrong = isWhole ? await misdescribedFiles(lake, { clock, signal }, workspace) : { files: [], loads: [] };
    const plan = { steps, lost, damaged: [...damaged, ...wrong.files], loads: wrong.loads, adoption };
    return { ...plan, requested: requestedRanges(lake, gaps, plan) };
  });
}

/**
 * Notes what is to be loaded again, as an interrupted run does: where all loads of a pipeline are taken out, nothing else says that it
 * had begun.
 */
async function noteGaps(store: Store, { requested }: RepairPlan, run: string, now: number): Promise<void> {
  for (const [account, some] of groupBy(requested, (range) => range.account)) {
    const asked = some.flatMap(({ pipeline, loadKey, start, end }) =>
      start < now ? [{ command: 'backfill' as const, pipeline, loadKey, start, end: Math.min(end, now) }] : [],
    );
    const notes = await readRequestedRanges(store, account, () => undefined);
    if (asked.length > 0) await noteRequestedRanges(store, account, run, asked, notes);
  }
}

/** A range that is to be loaded again. */
type RequestedAgain = Omit<RequestedRange, 'command'> & Pick<LoadKey, 'account'>;

/** What is to be loaded again once the load keys of lost commits and those of a plan are taken out. */
function requestedRanges(
  lake: Lake,
  gaps: readonly LoadKey[],
  { damaged, loads }: Pick<RepairPlan, 'damaged' | 'loads'>,
): readonly RequestedAgain[] {
  return [
    ...[...gaps, ...loads].flatMap((key) => requestedAgain(lake, key)),
    ...damaged.flatMap(({ file, gaps }) => gaps.flatMap((key) => requestedAgain(lake, key, monthRange(file.month)))),
  ];
}

/** The days of a load key, as far as they are known: of its month those that are loaded, as nobody has requested the others. */
function requestedAgain(lake: Lake, key: LoadKey, month?: Window): readonly RequestedAgain[] {
  const { account, pipeline, origin, readAt, window } = key;
  const isReported = pipeline === roles.reports.name && origin === 'api';
  const kept = isReported ? { start: readAt - reportLimits.keptMs, end: readAt } : undefined;
  const loaded = isReported || month === undefined ? month : storedParts(lake, pipeline, account, month);
  const loadKey = isReported ? key.key : undefined;
  return [window ?? loaded ?? kept ?? []].flat().map((range) => ({ ...range, account, pipeline, loadKey }));
}

/** Takes damaged files out of a lake whose catalog is whole, and derives entries again. */
async function repairFiles(
  store: Store,
  { damaged, lost, loads, adoption }: RepairPlan,
  context: CommandContext,
): Promise<Lake> {
  const { clock } = context;
  const lake = await Lake.openLost(store, tables, clock);
  if (damaged.length + lost.length + loads.length + adoption.files.length === 0) return lake;
  await withWorkspace(defaultLimits, store, async (workspace) => {
    const repaired = { lake, clock, workspace };
    await takeOut(repaired, damaged);
    await takeOutKeys(repaired, loads);
    await adoptFiles(repaired, adoption);
    await rederiveEntries(lake, context);
    await takeOutUnloaded(repaired);
    if (adoption.files.length > 0) await removeDerivedRemains(lake);
  });
  return lake;
}

function planText({ lake }: RepairOptions, { steps, damaged, loads, adoption }: RepairPlan, now: number): string {
  const lines = [
    ...steps.map(({ path, text }) => `${path}: ${text}`),
    ...damaged.map(fateText),
    ...loads.map((load) => loadText(load, now)),
    ...adoptionTexts(adoption),
  ];
  if (lines.length === 0)
    return `Nothing to repair: the catalog of ${printable(lake)}, its published logs and its files are whole.\n`;
  return ['', `To repair in ${printable(lake)}:`, '', ...lines.map((line) => `  ${printable(line)}`), ''].join('\n');
}

function afterText({ lake, config }: RepairOptions, plans: readonly RepairPlan[]): string {
  const status = commandIn({ lake, config }, 'ledgerlake status');
  const isGap = plans.some(
    ({ damaged, lost, loads, adoption }) =>
      lost.length + loads.length + adoption.files.length + adoption.aside.length > 0 ||
      damaged.some(({ gaps, lasting }) => gaps.length + lasting.length > 0),
  );
  if (!isGap) return 'nothing was taken out';
  return `${lostText(plans)}\`${status}\` names the command that loads what was taken out`;
}

/** What became of lost commits, in counts; empty without any. */
function lostText(plans: readonly RepairPlan[]): string {
  const commits = plans.flatMap(({ lost }) => lost).length;
  const adopted = plans.flatMap(({ adoption }) => adoption.files);
  const aside = plans.flatMap(({ adoption }) => adoption.aside).length;
  if (commits + adopted.length + aside === 0) return '';
  const keys = formatCount(adopted.flatMap(({ loadKeys }) => loadKeys).length, 'load key');
  return `${formatCount(commits, 'commit')} lost, ${formatCount(adopted.length, 'data file')} with ${keys} adopted, ${aside} left aside; `;
}

function repairSummary(
  status: 'done' | 'failed',
  { lake }: RepairOptions,
  plans: readonly RepairPlan[],
  repaired: Lake | undefined,
) {
  const files = plans.flatMap(({ damaged }) =>
    damaged.map((data) => ({
      file: data.file.lakePath,
      problem: data.reason,
      gaps: data.gaps.map(({ key }) => key),
      lasting: data.lasting.map(({ key }) => key),
      readable_rows: data.readable ?? null,
    })),
  );
  return {
    status,
    lake,
    restored: plans.flatMap(({ steps }) => steps.map(({ path }) => path)),
    lost: plans.flatMap(({ lost }) => lost),
    adopted: plans.flatMap(({ adoption }) => adoption.files.map(({ path }) => path)),
    left_aside: plans.flatMap(({ adoption }) => adoption.aside),
    files,
    loads: plans.flatMap(({ loads }) =>
      loads.map(({ account, pipeline, key, reason }) => ({ account, pipeline, load_key: key, problem: reason })),
    ),
    catalog: repaired === undefined ? null : catalogVersion(repaired),
  };
}
