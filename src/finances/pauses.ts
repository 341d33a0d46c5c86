import type { AttemptRule } from './attempt-table.js';
import { limits, operations, type Operation, type OperationName } from './operations.js';
import type { RequestParameters } from './request-path.js';

/**
 * The pause before an attempt, in whole milliseconds: by chance, so that requests which failed together don't come
 * again together, between half the first pause and a limit that doubles. `before`: pauses made so far.
 */
export function backOff({ firstPauseMs, longestPauseMs }: AttemptRule, before: number, random: () => number): number {
  const least = firstPauseMs / 2;
  const most = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(before, 30));
  return Math.floor(least + random() * Math.max(0, most - least));
}

/** `Retry-After` in milliseconds from `now` on, which is by the service's clock; undefined where it says nothing. */
export function retryAfterMs(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.ceil(Number(trimmed) * 1000);
  // A bare number would be a year to Date.parse, hence the letters of a weekday or month.
  const instant = /[a-z]{3}/i.test(trimmed) ? Date.parse(trimmed) : NaN;
  return Number.isNaN(instant) ? undefined : Math.max(0, instant - now);
}

/** The service's `Date` is cut to the second, and its clock may be read a little before ours. */
const clockGrainMs = 2000;

/** Milliseconds until the request's date bounds are old enough (section 4, limits); `now` is by the service's clock. */
export function untilBoundsAreFine(name: OperationName, parameters: RequestParameters, now: number): number {
  const { range }: Operation = operations[name];
  const bounds = [range?.after, range?.before].map((bound) => (bound === undefined ? undefined : parameters[bound]));
  const latest = Math.max(...bounds.map((bound) => (typeof bound === 'number' ? bound : -Infinity)));
  return Math.max(0, latest + limits.marginMs + clockGrainMs - now);
}
