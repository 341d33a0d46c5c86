import { accountsOf, type Account } from '../../bench/fleet/account.js';
import { requestsOf } from '../../bench/fleet/bounds.js';
import { runFleet } from '../../bench/fleet/fleet-run.js';
import type { EndedTurn, Outcome } from '../../bench/fleet/told.js';
import type { Scenario } from '../../bench/fleet/scenario.js';
import { usualScenario } from '../../bench/fleet/usual.js';

/** A fleet of some accounts and days. */
export const smallScenario: Scenario = {
  ...usualScenario,
  accounts: 30,
  days: 3,
  workers: 3,
  places: 2,
  population: { ...usualScenario.population, medianEvents: 200, mostEvents: 20_000, historyDays: 120, latecomers: 0.2 },
  troubles: { ...usualScenario.troubles, daysBetweenDeaths: 0.01, faults: 0.05, outages: [{ at: 600, lasts: 60 }] },
};

/** All that a simulated fleet was seen to do. */
export interface Seen extends Outcome {
  readonly accounts: readonly Account[];
  /** Requests that the first backfills had at the beginning, by account. */
  readonly wanted: ReadonlyMap<Account, number>;
  readonly turns: readonly EndedTurn[];
  readonly backfilled: ReadonlySet<Account>;
  readonly synced: number;
  readonly stalls: number;
  readonly dead: readonly Account[];
}

export function seen(scenario: Scenario): Seen {
  const accounts = accountsOf(scenario);
  const wanted = new Map(accounts.map((account) => [account, requestsOf(account)]));
  const turns: EndedTurn[] = [];
  const backfilled = new Set<Account>();
  const dead: Account[] = [];
  let synced = 0;
  let stalls = 0;
  const outcome = runFleet(scenario, accounts, {
    turnEnded: (turn) => turns.push(turn),
    backfillDone: (account) => backfilled.add(account),
    syncDone: () => synced++,
    stalled: () => stalls++,
    dead: (account) => dead.push(account),
  });
  return { ...outcome, accounts, wanted, turns, backfilled, synced, stalls, dead };
}

/** The most spans that lie over one instant. */
export function mostAtOnce(spans: readonly { readonly takenAt: number; readonly at: number }[]): number {
  const changes = spans.flatMap(({ takenAt, at }) => [
    { at: takenAt, by: 1 },
    { at, by: -1 },
  ]);
  let now = 0;
  let most = 0;
  // What ends at an instant gives its place to what begins at it.
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) most = Math.max(most, (now += by));
  return most;
}
