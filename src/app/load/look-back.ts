import { dayMs } from '../../core/windows.js';
import type { LookBackRule } from '../configuration/setting-definitions.js';

/** A look-back that is due within this time runs now, as a nightly run doesn't start at the same second each night. */
const slackMs = dayMs / 2;

/**
 * Days that the present run looks back: the longest of the due rules.
 *
 * @param lastDone when the last look-back of so many days was done, milliseconds since 1970
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
