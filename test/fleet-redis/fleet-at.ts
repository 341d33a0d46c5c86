import { openFleet, type Fleet } from '../../src/app/fleet/fleet.js';

/** The fleet of the usual name on a Redis. */
export async function fleetAt(url: string): Promise<Fleet> {
  return openFleet({ redis: { url, shown: url }, fleet: 'ledgerlake' }, () => undefined);
}

/** Whether accounts have done what they were asked, and nobody is in the queue. */
export async function isEmpty(fleet: Fleet, names: readonly string[]): Promise<boolean> {
  // First of all: whoever begins a turn while the queue is looked at, state by state, may be seen in none of them.
  for (const name of names) if ((await fleet.jobs.of(name)).length > 0) return false;
  return (await fleet.queue.accounts(Date.now())).length === 0;
}
