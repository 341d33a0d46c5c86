import { LedgerlakeError, usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { formatSpan } from '../../core/text/amounts.js';
import { dayMs } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import { mainTable } from '../../engine/slicing/slicing.js';
import { coveredTo, syncRange } from '../../engine/slicing/sync-windows.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
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
 * How old a lake may be at most, as `--max-lag` says it, in milliseconds; undefined: as old as it gets.
 *
 * @param marginMinutes minutes by which bounds stay behind the present: no lake is younger
 * @throws LedgerlakeError USAGE for what is no duration, or a shorter one than the margin
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
 * The watermark of these pipelines together: up to which instant the lake holds everything that a sync of them loads,
 * milliseconds since 1970. Undefined where they have no dates, or nothing of one is loaded.
 *
 * @param end up to which the run was to load
 */
export function lakeCoveredTo(
  lake: Lake,
  account: string,
  pipelines: readonly PipelineTables[],
  ranges: ReadonlyMap<string, { start: number; end: number }>,
  end: number,
): number | undefined {
  const covered = pipelines.map((pipeline) => {
    const loaded = loadedWindows(lake, pipeline.name, mainTable(pipeline).name, account);
    return coveredTo(loaded, ranges.get(pipeline.name) ?? syncRange(loaded, end));
  });
  if (covered.length === 0 || covered.includes(undefined)) return undefined;
  return Math.min(...covered.filter((instant) => instant !== undefined));
}

/** What helps where nothing else does. */
export const allowMore = 'or allow more with --max-lag';

/**
 * The failure of a sync, or of a status, whose lake is older than it may be; undefined where it isn't.
 *
 * @param about whose age it is, what helps, and what is not loaded in full although a run was asked for it; left out: the
 * lake's, after a sync
 */
export function lagFailure(
  covered: number | undefined,
  maxLagMs: number | undefined,
  now: number,
  about: { readonly subject?: string; readonly remedy?: string; readonly unfinished?: readonly string[] } = {},
): LedgerlakeError | undefined {
  if (maxLagMs === undefined) return undefined;
  const { subject: whose = 'it', remedy = `run again, ${allowMore}`, unfinished = [] } = about;
  const found = lagOf(covered, maxLagMs, now, unfinished);
  if (found === undefined) return undefined;
  return new LedgerlakeError(
    'LAKE_LAG',
    `expected the lake to be at most ${formatSpan(maxLagMs)} old, ${whose} ${found}; ${remedy}`,
  );
}

function lagOf(
  covered: number | undefined,
  maxLagMs: number,
  now: number,
  unfinished: readonly string[],
): string | undefined {
  if (covered === undefined) return 'has nothing with a date';
  if (now - covered > maxLagMs) {
    return `is ${formatSpan(now - covered)} old: it is complete up to ${shortInstant(covered)}`;
  }
  return unfinished.length === 0 ? undefined : `lacks some of ${unfinished.join(', ')}, which were requested`;
}

/** How old the lake is, for people. */
export function lagText(covered: number | undefined, now: number): string {
  if (covered === undefined) return '';
  return `The lake is ${formatSpan(now - covered)} old: it is complete up to ${shortInstant(covered)}\n`;
}

/**
 * Emits the watermark of each pipeline with dates beside everything else: at once, and whenever a commit has moved it.
 *
 * @param end up to which the run loads, milliseconds since 1970
 * @param asked what earlier runs were asked for, and isn't loaded
 */
export function emittingWatermarks(
  lake: Lake,
  account: string,
  windowed: readonly PipelineTables[],
  { end, unfinished }: { readonly end: number; readonly unfinished: readonly RequestedRange[] },
  emit: Emit,
): Emit {
  const emitted = new Map<string, number>();
  const emitWatermark = (moved: PipelineTables): void => {
    const { name: pipeline } = moved;
    const loaded = loadedWindows(lake, pipeline, mainTable(moved).name, account);
    const ofPipeline = unfinished.filter((range) => range.pipeline === pipeline);
    const until = coveredTo(loaded, syncRange(loaded, end, ofPipeline));
    if (until === undefined || until === emitted.get(pipeline)) return;
    emitted.set(pipeline, until);
    emit({ event: 'watermark-moved', pipeline, until: isoInstant(until) });
  };
  windowed.forEach(emitWatermark);
  return (event) => {
    emit(event);
    if (event.event !== 'slice-committed') return;
    const moved = windowed.find(({ name }) => name === event.pipeline);
    if (moved !== undefined) emitWatermark(moved);
  };
}
