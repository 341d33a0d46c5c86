import { LedgerlakeError, usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { formatSpan } from '../../core/text/amounts.js';
import { dayMs } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import { coveredTo, syncRange } from '../../engine/slicing/sync-windows.js';
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
 * @param marginMinutes minutes between the latest bound and the present: no lake is younger
 * @throws LedgerlakeError USAGE where the text is no duration, or a shorter one than the margin
 */
export function readMaxLag(text: string | undefined, marginMinutes = 5): number | undefined {
  if (text === undefined) return undefined;
  const maxLagMs = readDuration('--max-lag', text);
  if (maxLagMs >= marginMinutes * 60_000) return maxLagMs;
  throw usageError(
    `expected --max-lag to be at least the margin of ${marginMinutes} minutes by which a sync stays behind the present ` +
      `(marginMinutes), got ${JSON.stringify(text)}; no lake is that recent`,
  );
}

/**
 * The watermark of these pipelines together, in milliseconds since 1970: the lake has everything before it that a sync of them
 * loads. Undefined where there is no pipeline, or nothing of one is loaded.
 *
 * @param ranges what the sync loads, by the pipeline's name
 * @param end the end of the sync's range
 */
export function lakeCoveredTo(
  lake: Lake,
  account: string,
  pipelines: readonly PipelineTables[],
  ranges: ReadonlyMap<string, { start: number; end: number }>,
  end: number,
): number | undefined {
  const covered = pipelines.map((pipeline) => {
    const loaded = loadedWindows(lake, pipeline.name, account);
    return coveredTo(loaded, ranges.get(pipeline.name) ?? syncRange(loaded, end));
  });
  if (covered.length === 0 || covered.includes(undefined)) return undefined;
  return Math.min(...covered.filter((instant) => instant !== undefined));
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
  covered: number | undefined,
  maxLagMs: number | undefined,
  now: number,
  about: { readonly subject?: string; readonly remedy?: string; readonly unfinished?: readonly string[] } = {},
): LedgerlakeError | undefined {
  if (maxLagMs === undefined) return undefined;
  const { subject = 'it', remedy = `run again, ${allowMore}`, unfinished = [] } = about;
  let found: string;
  if (covered === undefined) found = 'has nothing with a date';
  else if (now - covered > maxLagMs)
    found = `is ${formatSpan(now - covered)} old: it is complete up to ${shortInstant(covered)}`;
  else if (unfinished.length > 0) found = `lacks some of ${unfinished.join(', ')}, which were requested`;
  else return undefined;
  return new LedgerlakeError(
    'LAKE_LAG',
    `expected the lake to be at most ${formatSpan(maxLagMs)} old, ${subject} ${found}; ${remedy}`,
  );
}

/** The age of the lake after a run, for people. */
export function lagText(run: RunReport, covered: number | undefined, now: number): string {
  if (covered === undefined) return '';
  const age = formatSpan(now - covered);
  return `The lake is ${age} old: it is complete up to ${shortInstant(covered)} for ${runText(run)}\n`;
}

/**
 * Adds the watermarks of windowed pipelines to what a run emits: each at once, and whenever a commit moves it.
 *
 * @param end the end of the run's range, milliseconds since 1970
 * @param unfinished ranges that earlier runs were asked for and did not load
 */
export function emittingWatermarks(
  lake: Lake,
  account: string,
  windowed: readonly PipelineTables[],
  { end, unfinished }: { readonly end: number; readonly unfinished: readonly RequestedRange[] },
  emit: Emit,
): Emit {
  const emitted = new Map<string, number>();
  const emitWatermark = (pipeline: PipelineTables): void => {
    const { name } = pipeline;
    const loaded = loadedWindows(lake, name, account);
    const asked = unfinished.filter((range) => range.pipeline === name);
    const until = coveredTo(loaded, syncRange(loaded, end, asked));
    if (until === undefined || until === emitted.get(name)) return;
    emitted.set(name, until);
    emit({ event: 'watermark-moved', pipeline: name, until: isoInstant(until) });
  };
  windowed.forEach(emitWatermark);
  return (event) => {
    emit(event);
    if (event.event !== 'slice-committed') return;
    const committed = windowed.find(({ name }) => name === event.pipeline);
    if (committed !== undefined) emitWatermark(committed);
  };
}
