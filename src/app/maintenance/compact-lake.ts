import { commitTransaction } from '../../lake/transaction/transaction.js';
import { historyFamily } from '../reconcile/event-history.js';
import { unpinAppended } from '../../lake/transaction/references.js';
import { pipelines } from '../../../pipelines/all-pipelines.js';
import type { RunContext } from '../context.js';
import { maintain, type FamilySummary, type MaintenanceOptions, type MaintenanceRun } from './command.js';
import { addSize, bundlesOf, bytesOf, replacing, tablesOf, whileLive, type Bundle } from './file-bundles.js';
import type { Family } from '../../core/columns/table.js';
import { groupBy } from '../../core/group-by.js';
import { mergedFiles } from './merge.js';
import { mayShareFile, isRewritten } from '../../lake/files/new-file.js';
import { leadingColumn } from '../../lake/files/sorted-file.js';
import { canSplitRows, loadKeysText } from '../../lake/files/load-key-rows.js';
import { defaultLimits, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { accountOf, columnStatistics, importSpansOf, loadKeysOf, removal } from '../../lake/delta/file-tags.js';
import type { Add } from '../../lake/delta/actions.js';
import { damageOf } from '../../lake/files/checked-file.js';

export interface CompactOptions extends MaintenanceOptions {
  /** What files are merged up to, in bytes; default 128 MB. */
  readonly targetBytes?: number;
  /** Removes damaged files of the history, whose rows are lost. */
  readonly dropDamagedHistory?: boolean;
}

/** As large as DuckDB and object stores like files. */
const defaultTargetBytes = 128_000_000;

/** How often a partition is planned anew that another run changes meanwhile. */
const mostAttempts = 5;

/**
 * `ledgerlake compact`: merges the small files of each partition of account and month into files of about the target size,
 * until no two small ones are left, writes what else is as it was landed once more, smaller, and prints a summary. No
 * upstream, no quota. Each merge is in the lake whole or not at all; one whose files another run replaces meanwhile is
 * dropped, and what is there then is planned anew.
 *
 * @throws LedgerlakeError USAGE for an unknown pipeline or a bad account, LAKE_STORE naming a file that is missing or was
 *   changed behind the lake's back, STOPPED; the summary is printed by then, and what was merged stays
 */
export async function compact(options: CompactOptions, context: RunContext): Promise<void> {
  const { lake: address, dropDamagedHistory: isDropping = false, targetBytes = defaultTargetBytes } = options;
  await maintain(options, context, {
    command: 'compact',
    pipelines: [...pipelines, historyFamily],
    limits: defaultLimits,
    title: 'Compacted',
    nothing: () => `\nNothing to do: ${address} has no small files to merge, and none to recompress.\n`,
    slices: 'merges',
    run: async (run) => {
      const { lake, families, limits } = run;
      if (isDropping) await dropDamagedHistory(run);
      if (families.some(({ main }) => main.appendOnly)) await unpinAppended(lake, context.clock.now());
      await withWorkspace(limits, lake.store, async (workspace) => {
        for (const family of families) await compactFamily(run, workspace, family, targetBytes);
      });
    },
  });
}

/**
 * Removes the files of the history that are missing or aren't what the log says, in one commit, and reports the rows that are
 * lost with each: nothing can make them again, as the service no longer has what has vanished.
 *
 * @throws LedgerlakeError as the store and the log do, STOPPED
 */
async function dropDamagedHistory({ lake, account, clock, signal, emit }: MaintenanceRun): Promise<void> {
  for (const table of lake.tables) {
    if (table.schema.appendOnly !== true) continue;
    const damaged = new Map<string, { readonly add: Add; readonly reason: string }>();
    for (const add of [...table.snapshot.files.values()]) {
      signal.throwIfAborted();
      if (account !== undefined && accountOf(add) !== account) continue;
      const reason = await damageOf(lake.store, table, add);
      if (reason !== undefined) damaged.set(add.path, { add, reason });
    }
    if (damaged.size === 0) continue;
    let gone: Add[] = [];
    await table.commit('DELETE', ({ files }) => {
      // Another run may have merged one meanwhile, or written it again.
      gone = [...damaged.values()].flatMap(({ add }) => {
        const found = files.get(add.path);
        return found !== undefined && found.tags?.['sha256'] === add.tags?.['sha256'] ? [found] : [];
      });
      return gone.length === 0 ? undefined : gone.map((add) => removal(add, clock.now()));
    });
    for (const add of gone) {
      const rows = Number(add.tags?.['rows'] ?? 0);
      const slice = loadKeysText(loadKeysOf(add)) || 'no slice';
      const { reason = '' } = damaged.get(add.path) ?? {};
      emit({ event: 'history-dropped', file: table.pathOf(add), slice, rows, reason });
    }
    await lake.removeFiles(gone.map((add) => table.pathOf(add)));
  }
}

async function compactFamily(run: MaintenanceRun, workspace: Workspace, family: Family, targetBytes: number) {
  const { lake, clock, account, signal, emit, begin } = run;
  const { pipeline } = family;
  const summary = begin(family);
  const began = clock.now();
  const partitions = partitionsOf(bundlesOf(lake, family, account));
  const planned = [...partitions.values()].flatMap((bundles) => mergesOf(family, bundles, targetBytes).flat());
  emit({ event: 'files-planned', pipeline, files: planned.length, bytes: bytesOf(planned) });
  for (const partition of partitions.keys()) {
    for (let lost = 0; lost < mostAttempts;) {
      const [owner = ''] = partition.split('/');
      const bundles = partitionsOf(bundlesOf(lake, family, owner)).get(partition) ?? [];
      const [merge] = mergesOf(family, bundles, targetBytes);
      if (merge === undefined) break;
      signal.throwIfAborted();
      if (await commitMerge(run, workspace, family, merge, summary)) {
        emit({ event: 'files-merged', pipeline, partition, files: merge.length, bytes: bytesOf(merge) });
      } else {
        lost++;
        await lake.refresh();
      }
      await workspace.clear();
    }
  }
  summary.seconds = (clock.now() - began) / 1000;
}

/** One merge; false where another run has replaced one of the files meanwhile. */
async function commitMerge(
  { lake, clock, signal }: MaintenanceRun,
  workspace: Workspace,
  family: Family,
  bundles: readonly Bundle[],
  summary: FamilySummary,
): Promise<boolean> {
  const merge = () => mergedFiles({ lake, clock, workspace, family }, bundles, signal);
  // A file that isn't there any more may have been replaced, and then nothing is wrong with it.
  const files = await whileLive(lake, family, bundles, merge);
  if (files === undefined) return false;
  const { isCommitted, ...written } = await commitTransaction(lake, clock, {
    operation: 'OPTIMIZE',
    main: family.main,
    files,
    swaps: true,
    decide: replacing(bundles),
  });
  if (!isCommitted) return false;
  summary.slices++;
  summary.files += written.files;
  summary.bytes += written.bytes;
  summary.replacedFiles += bundles.reduce((sum, { derived }) => sum + 1 + derived.length, 0);
  summary.replacedBytes += bytesOf(bundles);
  for (const { table, add } of files) {
    summary.rows.set(table.name, (summary.rows.get(table.name) ?? 0) + Number(add.tags?.['rows'] ?? 0));
  }
  return true;
}

/** By account and month, in order. */
function partitionsOf(bundles: readonly Bundle[]): Map<string, Bundle[]> {
  const partitions = groupBy(bundles, ({ main }) => {
    const { account, month } = main.partitionValues;
    return `${account ?? ''}/${month ?? ''}`;
  });
  return new Map([...partitions].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The merges of those of one partition's bundles that can be split again, neighbours being those whose rows begin one after the other. */
function mergesOf(family: Family, bundles: readonly Bundle[], targetBytes: number): Bundle[][] {
  const items = bundles
    .filter(({ main, isWhole }) => isWhole && canSplitRows(family.main, family.derived, loadKeysOf(main)))
    .map((bundle) => ({
      bundle,
      // The target is that of the largest file of a merge.
      bytes: Math.max(...tablesOf(family, [bundle]).map(({ adds }) => adds.reduce(addSize, 0))),
      landedBytes: landedBytesOf(bundle),
      first: firstOf(family, bundle),
      spans: importSpansOf(bundle.main),
    }))
    .toSorted((a, b) =>
      a.first === b.first ? (a.bundle.main.path < b.bundle.main.path ? -1 : 1) : a.first < b.first ? -1 : 1,
    );
  const merges = planMerges(items, targetBytes, (one, other) => mayShareFile(one.spans, other.spans));
  return merges.map((merge) => merge.map(({ bundle }) => bundle));
}

/** Bytes of a bundle's files that are as slices have landed them. */
function landedBytesOf({ main, derived }: Bundle): number {
  return [main, ...derived.map(({ add }) => add)].filter((add) => !isRewritten(add)).reduce(addSize, 0);
}

/** The least value of the column that files are sorted by; empty where the log doesn't say. */
function firstOf({ main: table }: Family, { main }: Bundle): string {
  const column = leadingColumn(table);
  return column === undefined ? '' : (columnStatistics(main, column).least ?? '');
}

/** A thing to be merged, of a size in bytes. */
interface Sized {
  readonly bytes: number;
  /** Bytes of those of its files that are as a slice has landed them: written once more, they come out smaller. */
  readonly landedBytes: number;
}

/** What share of the target landed bytes must have to be worth being rewritten for their own sake. */
const leastLandedShare = 1 / 128;

/**
 * Which of these are to be merged, each list into one: neighbours that are less than half as large as the target,
 * up to that size together; then, each by itself, those that are only to be written smaller. Where nothing comes out, at
 * most one is that small, of those that may be merged with each other, and few bytes are as they were landed: that is what
 * `compact` leaves alone.
 */
export function planMerges<T extends Sized>(
  items: readonly T[],
  targetBytes: number,
  mayMerge: (one: T, other: T) => boolean = () => true,
): T[][] {
  const merges: T[][] = [];
  /** Merges that more may be added to. */
  const open: { items: T[]; bytes: number }[] = [];
  for (const item of items) {
    if (item.bytes * 2 >= targetBytes) continue;
    let merge = open.find(({ items: others }) => others.every((other) => mayMerge(other, item)));
    if (merge === undefined) open.push((merge = { items: [], bytes: 0 }));
    if (merge.bytes + item.bytes > targetBytes) {
      merges.push(merge.items);
      merge.items = [];
      merge.bytes = 0;
    }
    merge.items.push(item);
    merge.bytes += item.bytes;
  }
  merges.push(...open.map(({ items: merged }) => merged));
  const found = merges.filter((merge) => merge.length > 1);
  const merged = new Set(found.flat());
  const alone = items.filter((item) => item.landedBytes >= targetBytes * leastLandedShare && !merged.has(item));
  return [...found, ...alone.map((item) => [item])];
}
