import { LedgerlakeError, usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { formatSpan } from '../../core/text/amounts.js';
import { dayMs, joined, type Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import { coveredTo, missingWindows } from '../../engine/slicing/sync-windows.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import { runText, type RunReport } from './run-summary.js';
import type { PipelineTables } from '../../core/columns/table.js';
import { isoInstant, shortInstant } from '../../core/numeric/instant.js';

const durationMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs };

/**
 * Milliseconds of a duration such as `90m`, `2h`, `1d` or `1h30m`.
 *
 * @throws LedgerlakeError USAGE for anything else
 */
export function readDuration(option: string, text: string): number {
  if (!/^(\d{1,6}[smhd])+$/.test(text)) {
    throw usageError(`expected ${option} to be a duration such as 90m, 2h, 1d or 1h30m, got ${JSON.stringify(text)}`);
  }
  return [...text.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, count, letter = '']) => sum + Number(count) * (durationMs[letter] ?? 0),
    0,
  );
}

/**
 * The maximum age of a lake in milliseconds, from the text of `--max-lag`; undefined: any age.
 *
 * @param marginMinutes minutes between the latest bound and the present: every lake is older
 * @throws LedgerlakeError USAGE where the text is no duration, or one that isn't longer than the margin
 */
export function readMaxLag(text: string | undefined, marginMinutes = 5): number | undefined {
  if (text === undefined) return undefined;
  const maxLagMs = readDuration('--max-lag', text);
  if (maxLagMs > marginMinutes * 60_000) return maxLagMs;
  throw usageError(
    `expected --max-lag to be longer than the margin of ${marginMinutes} minutes by which a sync stays behind the present ` +
      `(marginMinutes), got ${JSON.stringify(text)}; no lake is that recent`,
  );
}

/** How recent and how complete an account is, for some pipelines together. */
export interface Freshness {
  /** The watermark: the lake has everything before it that a sync loads. Milliseconds since 1970. */
  readonly coveredTo: number;
  /** The newest days that all of them have without a gap; undefined where they have none in common. */
  readonly complete: Window | undefined;
}

/** What a lake should have for a sync to have nothing to load. */
interface Wanted {
  /** The end of the range, milliseconds since 1970. */
  readonly end: number;
  /** Ranges that runs were requested to load, as far as they weren't loaded. */
  readonly requested?: readonly RequestedRange[] | undefined;
  /** What a sync has planned to load, by the pipeline's name; left out: what it would plan now. */
  readonly missing?: ReadonlyMap<string, readonly Window[]> | undefined;
}

/** The freshness of pipelines with windows; undefined where there is none, or nothing of one is loaded. */
export function freshnessOf(
  lake: Lake,
  account: string,
  pipelines: readonly Pick<PipelineTables, 'name'>[],
  { end: until, requested, missing }: Wanted,
): Freshness | undefined {
  let [covered, start, end] = [Infinity, -Infinity, Infinity];
  for (const { name } of pipelines) {
    const loaded = loadedWindows(lake, name, account);
    const stretch = joined(loaded).at(-1);
    if (stretch === undefined) return undefined;
    const wanted = missing?.get(name) ?? missingWindows(loaded, until, requested, name);
    covered = Math.min(covered, coveredTo(loaded, wanted) ?? covered);
    start = Math.max(start, stretch.start);
    end = Math.min(end, stretch.end);
  }
  return covered === Infinity ? undefined : { coveredTo: covered, complete: start < end ? { start, end } : undefined };
}

/** `complete up to 2026-03-01`; where days after that are missing also from when on it is complete again. */
export function completeText({ coveredTo: until, complete }: Freshness): string {
  const isBroken = complete !== undefined && complete.start > until;
  const again = isBroken
    ? `, lacks days until ${shortInstant(complete.start)}, and is complete again up to ${shortInstant(complete.end)}`
    : '';
  return `complete up to ${shortInstant(until)}${again}`;
}

/** The last remedy of a lag failure. */
export const allowMore = 'or allow more with --max-lag';

/**
 * The failure of a sync or a status whose lake is older than allowed; undefined where it isn't.
 *
 * @param about the subject whose age is checked, the remedy, and the pipelines whose requested ranges are not loaded in full;
 *   left out: the lake, after a sync
 */
export function lagFailure(
  freshness: Freshness | undefined,
  maxLagMs: number | undefined,
  now: number,
  about: { readonly subject?: string; readonly remedy?: string; readonly unfinished?: readonly string[] } = {},
): LedgerlakeError | undefined {
  if (maxLagMs === undefined) return undefined;
  const { subject = 'it', remedy = `run again, ${allowMore}`, unfinished = [] } = about;
  let found: string;
  if (freshness === undefined) found = 'has nothing with a date';
  else if (now - freshness.coveredTo > maxLagMs)
    found = `is ${formatSpan(now - freshness.coveredTo)} old: it is ${completeText(freshness)}`;
  else if (unfinished.length > 0) found = `lacks some of ${unfinished.join(', ')}, which were requested`;
  else return undefined;
  return new LedgerlakeError(
    'LAKE_LAG',
    `expected the lake to be at most ${formatSpan(maxLagMs)} old, ${subject} ${found}; ${remedy}`,
  );
}

/** The age of the lake after a run, for people. */
export function lagText(run: RunReport, freshness: Freshness | undefined, now: number): string {
  if (freshness === undefined) return '';
  const age = formatSpan(now - freshness.coveredTo);
  return `The lake is ${age} old: it is ${completeText(freshness)} for ${runText(run)}\n`;
}

/**
 * Adds the watermarks of windowed pipelines to what a run emits: each at once, and whenever a commit moves it, or adds to the days
 * that are complete up to the run's end.
 *
 * @param wanted up to the end of the run's range, with the ranges that this run or earlier ones were requested to load
 */
export function emittingWatermarks(
  lake: Lake,
  account: string,
  windowed: readonly PipelineTables[],
  wanted: Wanted,
  emit: Emit,
): Emit {
  const emitted = new Map<string, string>();
  const emitWatermark = (pipeline: PipelineTables): void => {
    const { name } = pipeline;
    const freshness = freshnessOf(lake, account, [pipeline], wanted);
    if (freshness === undefined) return;
    const { coveredTo: covered, complete } = freshness;
    const from = complete !== undefined && complete.end >= wanted.end ? isoInstant(complete.start) : null;
    const until = isoInstant(covered);
    if (emitted.get(name) === `${until} ${from}`) return;
    emitted.set(name, `${until} ${from}`);
    emit({ event: 'watermark-moved', pipeline: name, until, from });
  };
  windowed.forEach(emitWatermark);
  return (event) => {
    emit(event);
    if (event.event !== 'slice-committed') return;
    const committed = windowed.find(({ name }) => name === event.pipeline);
    if (committed !== undefined) emitWatermark(committed);
  };
}
