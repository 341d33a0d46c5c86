import { createHash } from 'node:crypto';

/** The part of each day in which nightly syncs begin: milliseconds since midnight, UTC; the end may lie behind midnight. */
export interface Night {
  readonly startMs: number;
  readonly lengthMs: number;
}

const dayMs = 86_400_000;

/**
 * When in the night an account's sync is due: whole seconds since midnight, UTC. It follows from the account's name, so
 * that syncs are spread evenly over the night, and none moves when accounts come and go.
 */
export function nightlySecond(account: string, { startMs, lengthMs }: Night): number {
  const share = createHash('sha256').update(account).digest().readUIntBE(0, 6) / 2 ** 48;
  return Math.floor(((startMs + Math.floor(share * lengthMs)) % dayMs) / 1000);
}

/** The same as a cron pattern with seconds: `17 42 3 * * *`. */
export function nightlyPattern(account: string, night: Night): string {
  const second = nightlySecond(account, night);
  return `${second % 60} ${Math.floor(second / 60) % 60} ${Math.floor(second / 3600)} * * *`;
}
