import { dayMs } from '../../core/windows.js';

/** How far a sync looks back, and how often. */
export interface LookBackRule {
  readonly days: number;
  /** Days between two look-backs of this length; 0: with each run. */
  readonly everyDays: number;
}

/** Events arrive late mostly by hours, at times by days, and now and then when a reserve is released weeks later. */
export const defaultLookBack: readonly LookBackRule[] = [
  { days: 2, everyDays: 0 },
  { days: 14, everyDays: 7 },
  { days: 35, everyDays: 30 },
];

/** A nightly run doesn't begin at the same second each night: one that is due within so long is done now. */
const slackMs = dayMs / 2;

/**
 * Days that are looked back now: the longest of the rules that are due.
 *
 * @param lastDone when all of the last so many days had been read again, milliseconds since 1970
 */
export function lookBackDays(
  rules: readonly LookBackRule[],
  lastDone: (days: number) => number | undefined,
  now: number,
): number {
  const due = rules.filter(({ days, everyDays }) => {
    const done = everyDays === 0 ? undefined : lastDone(days);
    return done === undefined || now - done + slackMs >= everyDays * dayMs;
  });
  return Math.max(0, ...due.map(({ days }) => days));
}
