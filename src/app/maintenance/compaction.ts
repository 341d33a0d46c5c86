import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import { commitTransaction } from '../../lake/transaction/transaction.js';
import type { Lake } from '../../lake/lake.js';
import { bundlesOf, fileCountOf, replacing, sizesOf, whileLive, type Bundle } from './file-bundles.js';
import type { Family } from '../../core/columns/table.js';
import { mergedFiles } from './merge.js';
import { planMerges, type Sized } from './merge-plan.js';
import { leadingColumn } from '../../lake/files/sorted-file.js';
import { isRewritten, mayShareFile } from '../../lake/files/new-file.js';
import { newWork, type Work } from './work-summary.js';
import { canSplitRows } from '../../lake/files/load-key-rows.js';
import { withWorkspace, type Limits, type Workspace } from '../../lake/files/workspace.js';
import { loadKeysOf } from '../../lake/delta/file-tags.js';

/** What `compact` makes of small files: as large as DuckDB and object stores like them. */
export const defaultTargetBytes = 128_000_000;

/** How often a partition is looked at again that another run changes meanwhile. */
const mostAttempts = 5;

export interface CompactionOptions {
  readonly lake: Lake;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly families: readonly Family[];
  /** Undefined: every account. */
  readonly account: string | undefined;
  readonly targetBytes: number;
  readonly limits: Limits;
  readonly emit: Emit;
}

/**
 * Merges the small files of each partition of account and month into files of about the target size, until no two small
 * ones are left, and writes what else is as it was landed once more, smaller. Each merge is in the lake whole or not at
 * all; one whose files another run replaces meanwhile is dropped, and what is there then is looked at again.
 *
 * @param work takes what was done per family, also where it fails
 * @throws LedgerlakeError LAKE_STORE naming a file that is missing or was changed behind the lake's back, STOPPED
 */
export async function compactLake(options: CompactionOptions, work: Map<Family, Work>): Promise<void> {
  await withWorkspace(options.limits, options.lake.store, async (workspace) => {
    for (const family of options.families) {
      const done = newWork(family.pipeline);
      work.set(family, done);
      await compactFamily(options, workspace, family, done);
    }
  });
}

async function compactFamily(
  options: CompactionOptions,
  workspace: Workspace,
  family: Family,
  done: Work,
): Promise<void> {
  const { lake, clock, account, targetBytes, signal, emit } = options;
  const began = clock.now();
  const partitions = partitionsOf(bundlesOf(lake, family, account));
  const files = [...partitions.values()].flatMap((held) => planned(family, held, targetBytes).flat());
  const bytes = files.reduce((sum, { bundle }) => sum + bytesOf(bundle), 0);
  emit({ event: 'files-planned', pipeline: family.pipeline, files: files.length, bytes });
  for (const partition of partitions.keys()) {
    for (let lost = 0; lost < mostAttempts;) {
      const bundles = partitionsOf(bundlesOf(lake, family, accountOf(partition))).get(partition) ?? [];
      const [merge] = planned(family, bundles, targetBytes);
      if (merge === undefined) break;
      signal.throwIfAborted();
      const chosen = merge.map(({ bundle }) => bundle);
      if (await mergeOnce(options, workspace, family, chosen, done)) {
        const merged = chosen.reduce((sum, bundle) => sum + bytesOf(bundle), 0);
        const { pipeline } = family;
        emit({ event: 'files-merged', pipeline, partition, files: chosen.length, bytes: merged });
      } else {
        lost++;
        await lake.refresh();
      }
      await workspace.clear();
    }
  }
  done.seconds = (clock.now() - began) / 1000;
}

/** One merge; false where another run has replaced one of the files meanwhile. */
async function mergeOnce(
  { lake, clock, signal }: CompactionOptions,
  workspace: Workspace,
  family: Family,
  bundles: readonly Bundle[],
  done: Work,
): Promise<boolean> {
  const merge = () => mergedFiles(lake, workspace, family, bundles, clock.now(), { signal });
  // A file that isn't there any more may have been replaced, and then nothing is wrong with it.
  const files = await whileLive(lake, family, bundles, merge);
  if (files === undefined) return false;
  const { taken, ...written } = await commitTransaction(lake, clock, {
    operation: 'OPTIMIZE',
    main: family.main,
    files,
    swaps: true,
    decide: replacing(bundles),
  });
  if (!taken) return false;
  done.slices++;
  done.files += written.files;
  done.bytes += written.bytes;
  for (const bundle of bundles) {
    done.replacedFiles += fileCountOf(bundle);
    done.replacedBytes += bytesOf(bundle);
  }
  for (const { table, add } of files) {
    done.rows.set(table.name, (done.rows.get(table.name) ?? 0) + Number(add.tags?.['rows'] ?? 0));
  }
  return true;
}

function bytesOf({ main, derived }: Bundle): number {
  return main.size + derived.reduce((sum, { add }) => sum + add.size, 0);
}

/** Whose a partition is. */
function accountOf(partition: string): string {
  return partition.slice(0, partition.indexOf('/'));
}

/** By account and month, in order. */
function partitionsOf(bundles: readonly Bundle[]): Map<string, Bundle[]> {
  const partitions = new Map<string, Bundle[]>();
  for (const bundle of bundles) {
    const { account, month } = bundle.main.partitionValues;
    const key = `${account ?? ''}/${month ?? ''}`;
    partitions.set(key, [...(partitions.get(key) ?? []), bundle]);
  }
  return new Map([...partitions].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The merges of one partition's bundles. */
function planned(family: Family, bundles: readonly Bundle[], targetBytes: number): { bundle: Bundle }[][] {
  return planMerges(sized(family, bundles), targetBytes, (one, other) =>
    mayShareFile(one.bundle.main, other.bundle.main),
  );
}

/** Those that can be merged and taken apart again, by where their rows begin. */
function sized(family: Family, bundles: readonly Bundle[]): (Sized & { bundle: Bundle })[] {
  return bundles
    .filter(({ main, isWhole }) => isWhole && canSplitRows(family.main, family.derived, loadKeysOf(main)))
    .map((bundle) => ({
      bundle,
      bytes: Math.max(...sizesOf(bundle)),
      landedBytes: landedBytesOf(bundle),
      first: firstOf(family, bundle),
    }))
    .toSorted((a, b) =>
      a.first === b.first ? (a.bundle.main.path < b.bundle.main.path ? -1 : 1) : a.first < b.first ? -1 : 1,
    );
}

/** Bytes of a bundle's files that are as slices have landed them. */
function landedBytesOf({ main, derived }: Bundle): number {
  const landed = [main, ...derived.map(({ add }) => add)].filter((add) => !isRewritten(add));
  return landed.reduce((sum, { size }) => sum + size, 0);
}

/** The least value of the column that files are sorted by; empty where the log doesn't say. */
function firstOf({ main: table }: Family, { main }: Bundle): string {
  const column = leadingColumn(table);
  if (main.stats === undefined || column === undefined) return '';
  const { minValues } = JSON.parse(main.stats) as { minValues?: Record<string, unknown> };
  const value = minValues?.[column];
  return typeof value === 'string' ? value : '';
}
