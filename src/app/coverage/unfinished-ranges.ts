import type { Emit } from '../../core/events/run-event.js';
import { spanOf, uncovered, type Window } from '../../core/windows.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import type { Lake } from '../../lake/lake.js';
import { importedDays } from '../../lake/loads/imported-spans.js';
import {
  readRequestedRanges,
  type RequestedRangesNote,
  type RequestedRange,
} from '../../lake/upkeep/requested-ranges.js';
import { storedPipelines } from './stored-pipelines.js';

/** A range that a run was requested to load and has not loaded: from the first missing day to the end of the last one. */
export interface UnfinishedRange extends RequestedRange {
  readonly account: string;
  readonly gaps: readonly Window[];
}

/** The parts of the requested ranges that aren't loaded; none for a pipeline that this program doesn't know. */
export function unfinishedRanges(
  lake: Lake,
  notes: readonly Pick<RequestedRangesNote, 'account' | 'ranges'>[],
): UnfinishedRange[] {
  return notes.flatMap(({ account, ranges }) =>
    ranges.flatMap((range): UnfinishedRange[] => {
      const gaps = gapsOf(lake, account, range) ?? [];
      return gaps.length === 0 ? [] : [{ ...range, account, ...spanOf(gaps), gaps }];
    }),
  );
}

/**
 * What an account lacks of the range that the configuration requests of a sync, for each pipeline: nothing from before the
 * instant up to which its rows were forgotten, and nothing newer than the newest loaded window, as every sync loads that.
 */
export function configuredRanges(
  lake: Lake,
  account: string,
  pipelines: readonly string[],
  range: Window,
): UnfinishedRange[] {
  const start = Math.max(range.start, lake.snapshot.forgottenBefore(account) ?? range.start);
  const loaded = storedPipelines(lake).flatMap(({ name }) => loadedWindows(lake, name, account));
  const end = loaded.length === 0 ? range.end : spanOf(loaded).end;
  const ranges = pipelines.map((pipeline) => ({ command: 'sync', pipeline, start, end, isConfigured: true }) as const);
  return start < end ? unfinishedRanges(lake, [{ account, ranges }]) : [];
}

/**
 * The parts of a range that are neither loaded nor imported; undefined for an unknown pipeline and for one without
 * dates, unless the range is that of a settlement.
 */
function gapsOf(lake: Lake, account: string, range: RequestedRange): readonly Window[] | undefined {
  const { pipeline, loadKey, start, end } = range;
  if (loadKey !== undefined) return lake.snapshot.keysOf(account, pipeline).has(loadKey) ? [] : [{ start, end }];
  const coverage = storedPipelines(lake).find(({ name }) => name === pipeline)?.slicing.coverage;
  if (coverage === undefined) return undefined;
  const imported = importedDays(lake.snapshot, pipeline, account);
  return coverage(lake, account, { start, end }).gaps.flatMap((gap) => uncovered(gap, imported));
}

/** Whether everything that a requested range names is loaded. */
export function areRangesLoaded(lake: Lake, { account, ranges }: RequestedRangesNote): boolean {
  return ranges.every((range) => gapsOf(lake, account, range)?.length === 0);
}

/**
 * The ranges that runs were requested to load and have not loaded, of every account.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read
 */
export async function readUnfinished(lake: Lake, emit: Emit): Promise<UnfinishedRange[]> {
  const emitPassedOver = (file: string) => {
    emit({ event: 'note-passed-over', file });
  };
  return unfinishedRanges(lake, await readRequestedRanges(lake.store, undefined, emitPassedOver));
}
