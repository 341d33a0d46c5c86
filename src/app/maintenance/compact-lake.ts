import { isRewritten } from '../../lake/files/new-file.js';
import { count } from '../../core/count.js';
import { historyPipeline } from '../../sources/finances/lake-tables.js';
import { pipelines } from '../../../pipelines/all-pipelines.js';
import type { CommandResult } from '../command-result.js';
import type { RunContext } from '../context.js';
import { maintain, type RewriteSummary, type MaintenanceOptions, type MaintenanceRun } from './command.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { withDerived } from '../../lake/commit-files.js';
import { bundlesOf, filesByTable, filesIn, type Bundle } from '../../lake/files/bundles.js';
import { overNewest } from '../../lake/over-newest.js';
import { bytesOf, bundleBytes, countReplacement } from './file-bundles.js';
import type { PipelineTables } from '../../core/columns/table.js';
import { groupBy } from '../../core/group-by.js';
import { mergedFiles } from './merge.js';
import { leadingColumn } from '../../lake/files/sorted-file.js';
import { canSelectRows } from '../../lake/files/load-key-rows.js';
import { defaultLimits, withWorkspace, type Workspace } from '../../lake/files/workspace.js';

export interface CompactOptions extends MaintenanceOptions {
  /** Size of a merged file in bytes, at most; default 128 MB. */
  readonly targetBytes?: number;
}

/** A size that DuckDB and object stores read efficiently. */
const defaultTargetBytes = 128_000_000;

/**
 * `ledgerlake compact`: merges the small files of each partition of account and month into files of about the target size, until
 * no two small ones are left, and recompresses large files that slices wrote. It sends no requests to the
 * upstream. Each merge is one transaction; where another run replaces its files meanwhile, the partition is planned again.
 *
 * @throws LedgerlakeError USAGE for an unknown pipeline or account; LAKE_STORE for a file that is missing or damaged, LAKE_CONFLICT where
 *   other runs replace the files each time, STOPPED; committed merges stay
 */
export async function compact(options: CompactOptions, context: RunContext): Promise<CommandResult> {
  const { lake: address, targetBytes = defaultTargetBytes } = options;
  return maintain(options, context, {
    command: 'compact',
    pipelines: [...pipelines, historyPipeline],
    limits: defaultLimits,
    title: 'Compacted',
    nothing: () => `\nNothing to do: ${address} has no small files to merge, and none to recompress.\n`,
    slices: 'merges',
    run: async (run) => {
      const { lake, pipelines, limits } = run;
      await withWorkspace(limits, lake.store, async (workspace) => {
        for (const pipeline of pipelines) await compactPipeline(run, workspace, pipeline, targetBytes);
      });
    },
  });
}

async function compactPipeline(
  run: MaintenanceRun,
  workspace: Workspace,
  pipeline: PipelineTables,
  targetBytes: number,
) {
  const { lake, clock, account, signal, emit } = run;
  const { name } = pipeline;
  const summary = run.summarize(pipeline);
  const began = clock.now();
  const partitions = partitionsOf(bundlesOf(lake, pipeline, account));
  const planned = [...partitions.values()].flatMap((bundles) => mergesOf(pipeline, bundles, targetBytes).flat());
  emit({ event: 'files-planned', pipeline: name, files: planned.length, bytes: bundleBytes(planned) });
  for (const partition of partitions.keys()) {
    const [accountName = ''] = partition.split('/');
    const nextMerge = (snapshot: Snapshot): readonly Bundle[] => {
      const bundles = partitionsOf(bundlesOf({ snapshot }, pipeline, accountName)).get(partition) ?? [];
      const [merge = []] = mergesOf(pipeline, bundles, targetBytes);
      return merge;
    };
    for (let isMerged = true; isMerged;) {
      isMerged = await overNewest(lake, nextMerge, async (merge) => {
        if (merge.length === 0) return false;
        signal.throwIfAborted();
        await workspace.clear();
        await commitMerge(run, workspace, pipeline, merge, summary);
        emit({ event: 'files-merged', pipeline: name, partition, files: merge.length, bytes: bundleBytes(merge) });
        return true;
      });
    }
    await workspace.clear();
  }
  summary.seconds = (clock.now() - began) / 1000;
}

/** Merges bundles, and commits what replaces them. */
async function commitMerge(
  { lake, signal }: MaintenanceRun,
  workspace: Workspace,
  pipeline: PipelineTables,
  bundles: readonly Bundle[],
  summary: RewriteSummary,
): Promise<void> {
  const { main } = pipeline;
  const files = await mergedFiles({ lake, workspace, pipeline }, bundles, signal);
  const mains = bundles.map((bundle) => bundle.main);
  const replaced = (snapshot: Snapshot) => ({ removed: withDerived(snapshot, mains) });
  const written = await lake.commitFiles({ operation: 'OPTIMIZE', main, files, over: bundles, replaced });
  summary.slices++;
  countReplacement(summary, written, bundles);
  for (const { table, rows } of files) count(summary.rows, table.name, rows);
}

/** The bundles by account and month, in order. */
function partitionsOf(bundles: readonly Bundle[]): Map<string, Bundle[]> {
  const partitions = groupBy(bundles, ({ main: { account, month } }) => `${account}/${month}`);
  return new Map([...partitions].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The merges of one partition's bundles, in the order of their first rows. Bundles that couldn't be split again are left out. */
function mergesOf(pipeline: PipelineTables, bundles: readonly Bundle[], targetBytes: number): Bundle[][] {
  const items = bundles
    .filter(({ main }) => canSelectRows(pipeline.main, main.loadKeys))
    .map((bundle) => ({
      bundle,
      // The target applies to the largest file of a merge.
      bytes: Math.max(...filesByTable(pipeline, [bundle]).map(({ files }) => bytesOf(files))),
      // Of files that slices wrote.
      sliceBytes: bytesOf(filesIn(bundle).filter((file) => !isRewritten(file))),
      first: leastValue(pipeline, bundle),
    }))
    .toSorted((a, b) =>
      a.first === b.first ? (a.bundle.main.path < b.bundle.main.path ? -1 : 1) : a.first < b.first ? -1 : 1,
    );
  const merges = planMerges(items, targetBytes);
  return merges.map((merge) => merge.map(({ bundle }) => bundle));
}

/** The least value of the column that files are sorted by; empty where the log lacks it. */
function leastValue({ main: table }: PipelineTables, { main }: Bundle): string {
  const column = leadingColumn(table);
  return column === undefined ? '' : (main.columnStatistics(column).least ?? '');
}

interface Sized {
  readonly bytes: number;
  /** Bytes of its files that slices wrote: a rewrite makes them smaller. */
  readonly sliceBytes: number;
}

/** Share of the target that an item's `sliceBytes` must have for a rewrite of the item alone. */
const leastRewrittenShare = 1 / 128;

/**
 * Plans merges: lists of neighbours that are each smaller than half the target, and together at most as large as it; then single
 * items that are only rewritten, because slices wrote much of them.
 */
export function planMerges<T extends Sized>(items: readonly T[], targetBytes: number): T[][] {
  const merges: T[][] = [];
  let merge: T[] = [];
  let bytes = 0;
  for (const item of items) {
    if (item.bytes * 2 >= targetBytes) continue;
    if (bytes + item.bytes > targetBytes) {
      merges.push(merge);
      merge = [];
      bytes = 0;
    }
    merge.push(item);
    bytes += item.bytes;
  }
  merges.push(merge);
  const found = merges.filter((merge) => merge.length > 1);
  const merged = new Set(found.flat());
  const alone = items.filter((item) => item.sliceBytes >= targetBytes * leastRewrittenShare && !merged.has(item));
  return [...found, ...alone.map((item) => [item])];
}
