import type { RetryRule } from './retry-rules.js';

/**
 * The pause before an attempt, in whole milliseconds: random, so that requests which failed together aren't sent again
 * together, between half the first pause and a limit that doubles. `before`: pauses made so far.
 */
export function backOff(
  { firstPauseMs, longestPauseMs }: Pick<RetryRule, 'firstPauseMs' | 'longestPauseMs'>,
  before: number,
  random: () => number,
): number {
  const least = firstPauseMs / 2;
  const most = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(before, 30));
  return Math.floor(least + random() * Math.max(0, most - least));
}

/** `Retry-After` in milliseconds from `now` on, which is by the API's clock; undefined where it names neither seconds nor a date. */
export function retryAfterMs(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.ceil(Number(trimmed) * 1000);
  // Date.parse reads a bare number as a year: a date has the letters of a weekday or month.
  const instant = /[a-z]{3}/i.test(trimmed) ? Date.parse(trimmed) : NaN;
  return Number.isNaN(instant) ? undefined : Math.max(0, instant - now);
}
