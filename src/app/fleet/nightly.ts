import { createHash } from 'node:crypto';
import { usageError } from '../../core/errors.js';
import { dayMs } from '../../core/windows.js';

/** The time of day in which nightly syncs start: milliseconds since midnight, UTC; it may extend past midnight. */
export interface Night {
  readonly startMs: number;
  readonly lengthMs: number;
}

const minuteMs = 60_000;

/**
 * When an account's sync is due: whole seconds since midnight, UTC. It is computed from the account's name, so that syncs are spread
 * evenly over the night, and don't move when other accounts are added or removed.
 */
export function nightlySecond(account: string, { startMs, lengthMs }: Night): number {
  const share = createHash('sha256').update(account).digest().readUIntBE(0, 6) / 2 ** 48;
  return Math.floor(((startMs + Math.floor(share * lengthMs)) % dayMs) / 1000);
}

/** The time of an account's sync as a cron pattern with seconds: `17 42 3 * * *`. */
export function nightlyPattern(account: string, night: Night): string {
  const second = nightlySecond(account, night);
  return `${second % 60} ${Math.floor(second / 60) % 60} ${Math.floor(second / 3600)} * * *`;
}

/**
 * Parses `--sync-at`: `01:00-05:00`; undefined for `never`.
 *
 * @throws LedgerlakeError USAGE for anything else
 */
export function readNight(text: string): Night | undefined {
  if (text === 'never') return undefined;
  const [, ...fields] = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  const [startHour, startMinute, endHour, endMinute] = fields.map(Number);
  if (startHour === undefined || startMinute === undefined || endHour === undefined || endMinute === undefined) {
    throw usageError(
      `expected --sync-at to be HH:MM-HH:MM in UTC such as 01:00-05:00, or never, got ${JSON.stringify(text)}`,
    );
  }
  const startMs = (startHour * 60 + startMinute) * minuteMs;
  const endMs = (endHour * 60 + endMinute) * minuteMs;
  return { startMs, lengthMs: (endMs - startMs + dayMs) % dayMs };
}
