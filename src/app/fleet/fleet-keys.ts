import { usageError } from '../../core/errors.js';

/** Names of what a fleet keeps in Redis. One part in braces: on a cluster all of it is in one place. */
export interface FleetKeys {
  /** Begins all others, those of the queue included. */
  readonly prefix: string;
  readonly protocol: string;
  /** Counts turns, and which one holds each account. */
  readonly turns: string;
  readonly holders: string;
  readonly jobs: (account: string) => string;
  readonly quota: (account: string) => string;
  readonly sync: (account: string) => string;
}

/** @throws LedgerlakeError USAGE for a name that isn't one */
export function fleetKeys(fleet: string): FleetKeys {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(fleet)) {
    throw usageError(
      `expected --fleet to be 1 to 64 letters, digits, dots, dashes or underscores, got ${JSON.stringify(fleet)}`,
    );
  }
  const prefix = `{${fleet}}`;
  return {
    prefix,
    protocol: `${prefix}:protocol`,
    turns: `${prefix}:turn-count`,
    holders: `${prefix}:holders`,
    jobs: (account) => `${prefix}:asks:${account}`,
    quota: (account) => `${prefix}:quota:${account}`,
    sync: (account) => `${prefix}:sync:${account}`,
  };
}
