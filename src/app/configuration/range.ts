import { usageError } from '../../core/errors.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { readInstantOption } from '../../core/text/value-forms.js';
import { dayMs, dayStart, type Window } from '../../core/windows.js';

/** Days of a range without `--from`. */
const defaultDays = 90;

/**
 * Milliseconds between the latest bound and the present: the service refuses a bound that is less than two minutes old, and clocks
 * differ.
 */
export const rangeMarginMs = 5 * 60_000;

export interface RangeOptions {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Minutes instead of `rangeMarginMs`. */
  readonly marginMinutes?: number | undefined;
}

/**
 * The range of `--from` and `--to`, in milliseconds since 1970. By default `--to` is now less the margin, to the second, and `--from`
 * the start of the UTC day 90 days before. An end in the future is set back to the margin.
 *
 * @throws LedgerlakeError USAGE for an invalid date, and for an empty or reversed range
 */
export function readDateRange({ from, to, marginMinutes }: RangeOptions, now: number): Window {
  const marginMs = marginMinutes === undefined ? rangeMarginMs : marginMinutes * 60_000;
  const latest = latestBound(now, marginMinutes);
  const requestedEnd = to === undefined ? latest : readInstantOption('--to', to);
  const end = Math.min(requestedEnd, latest);
  const start = from === undefined ? dayStart(end - defaultDays * dayMs) : readInstantOption('--from', from);
  if (start >= latest) {
    const when = start > now ? ', which is in the future' : '';
    throw usageError(
      `expected --from to be at least ${marginMs / 60_000} minutes ago, got ${isoInstant(start)}${when}; ` +
        `the service returns only what is older than that`,
    );
  }
  if (start >= requestedEnd) {
    throw usageError(
      `expected --from to be earlier than --to, got --from ${isoInstant(start)} and --to ${isoInstant(requestedEnd)}; swap or change them`,
    );
  }
  return { start, end };
}

/** The message for an end in the future, which `readDateRange` sets back to `end`; undefined for other ends. */
export function futureEndText({ to }: RangeOptions, { end }: Window, now: number): string | undefined {
  if (to === undefined || readInstantOption('--to', to) <= now) return undefined;
  return `--to ${to} is in the future: the range ends at ${isoInstant(end)}`;
}

/** The latest instant, to the second, that a run at `now` requests; both in milliseconds since 1970. */
export function latestBound(now: number, marginMinutes: number = rangeMarginMs / 60_000): number {
  return Math.floor((now - marginMinutes * 60_000) / 1000) * 1000;
}
