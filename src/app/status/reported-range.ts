import { rangeMarginMs, readRange, type RangeOptions } from '../configuration/range.js';
import { dayMs, type Window } from '../../core/windows.js';
import { isoInstant } from '../../core/numeric/instant.js';

/**
 * What a lake is held against: the range that is given, else from the first loaded instant to now less the margin; where
 * less than a day has gone by since the last loaded instant it ends there, as what a lake can't hold yet is no gap.
 *
 * @throws LedgerlakeError USAGE for a range that is none
 */
export function reportedRange(options: RangeOptions, loaded: Window | undefined, now: number): Window {
  // Orders alone have no dates: then the default range shows what there could be.
  if (loaded === undefined || options.from !== undefined) return readRange(options, now);
  if (options.to !== undefined) return readRange({ ...options, from: isoInstant(loaded.start) }, now);
  const latest = Math.floor((now - rangeMarginMs) / 1000) * 1000;
  // A clock that was put back must not hide what is there.
  return { start: loaded.start, end: latest - loaded.end >= dayMs ? latest : loaded.end };
}
