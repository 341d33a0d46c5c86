import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Account } from '../../bench/fleet/account.js';
import { operations } from '../../bench/fleet/backlog.js';
import { requestsOf } from '../../bench/fleet/bounds.js';
import type { EndedTurn } from '../../bench/fleet/told.js';
import { sentAt } from '../../bench/fleet/reading.js';
import type { Scenario } from '../../bench/fleet/scenario.js';
import { dayMs } from '../../src/core/windows.js';
import { mostAtOnce, seen, smallScenario } from './small-fleet.js';

const anyScenario: fc.Arbitrary<Scenario> = fc
  .record({
    seed: fc.nat(),
    accounts: fc.integer({ min: 1, max: 25 }),
    workers: fc.integer({ min: 1, max: 4 }),
    places: fc.integer({ min: 1, max: 3 }),
    turnMs: fc.constantFrom(undefined, 20_000, 600_000),
    cpuRequest: fc.constantFrom(0.002, 0.9),
    daysBetweenDeaths: fc.constantFrom(0, 0.02, 0.5),
    keepsJournal: fc.boolean(),
    faults: fc.constantFrom(0, 0.2),
    outage: fc.record({ at: fc.integer({ min: 10, max: 100_000 }), lasts: fc.integer({ min: 1, max: 900 }) }),
  })
  .map(({ cpuRequest, daysBetweenDeaths, keepsJournal, faults, outage, ...sizes }) => ({
    ...smallScenario,
    ...sizes,
    costs: { ...smallScenario.costs, cpuRequest },
    troubles: { ...smallScenario.troubles, daysBetweenDeaths, keepsJournal, faults, outages: [outage] },
  }));

/** The turns of each account, or of each worker. */
function of(turns: readonly EndedTurn[], key: (turn: EndedTurn) => Account | number): EndedTurn[][] {
  const groups = new Map<Account | number, EndedTurn[]>();
  for (const turn of turns) groups.set(key(turn), [...(groups.get(key(turn)) ?? []), turn]);
  return [...groups.values()];
}

test('never two workers on one account, and never more turns than places', () => {
  fc.assert(
    fc.property(anyScenario, (scenario) => {
      const { turns } = seen(scenario);
      for (const some of of(turns, ({ account }) => account)) expect(mostAtOnce(some)).toBe(1);
      for (const some of of(turns, ({ worker }) => worker)) {
        expect(mostAtOnce(some)).toBeLessThanOrEqual(scenario.places);
      }
    }),
    { numRuns: 25 },
  );
});

test('what a backfill lacks is got once, and twice only what was open where a worker died', () => {
  fc.assert(
    fc.property(anyScenario, (scenario) => {
      const { turns, wanted, accounts } = seen(scenario);
      const got = new Map(accounts.map((account) => [account, account.takenOver]));
      for (const { account, work, end, reads, backlogs } of turns) {
        for (const { operation, reading, sent, answered, kept } of reads) {
          expect(kept).toBeLessThanOrEqual(answered);
          expect(answered).toBeLessThanOrEqual(sent);
          expect(sent).toBeLessThanOrEqual(reading.requests);
          if (end === 'done' || end === 'over') expect(kept).toBe(sent);
          else expect(sent - answered).toBeLessThanOrEqual(reading.chains);
          if (work === 'backfill') {
            const open = scenario.troubles.keepsJournal ? 1 : backlogs[operation].perSlice;
            expect(sent - kept).toBeLessThanOrEqual(reading.chains * open);
            got.set(account, (got.get(account) ?? 0) + kept);
          }
        }
      }
      for (const account of accounts) {
        const left = requestsOf(account);
        expect(left).toBeGreaterThanOrEqual(0);
        // A turn that is still under way at the end has told of nothing yet.
        expect((got.get(account) ?? 0) + left).toBe(wanted.get(account));
      }
    }),
    { numRuns: 25 },
  );
});

test('no request goes out before its token, over all turns of an account', () => {
  fc.assert(
    fc.property(anyScenario, (scenario) => {
      const { turns } = seen({ ...scenario, accounts: Math.min(scenario.accounts, 6) });
      const { burst, rate } = scenario.server;
      for (const some of of(turns, ({ account }) => account)) {
        for (const operation of operations) {
          let fullAt = 0;
          for (const { reads } of some) {
            for (const { reading, sent, operation: read } of reads) {
              if (read !== operation) continue;
              for (let request = 0; request < sent; request++) {
                const at = sentAt(reading, request);
                fullAt = Math.max(fullAt, at) + 1000 / rate;
                // A bucket that has given more than it holds would be full too late.
                expect(fullAt - at).toBeLessThanOrEqual((burst * 1000) / rate + 1e-3);
              }
            }
          }
        }
      }
    }),
    { numRuns: 25 },
  );
});

test('workers die, Redis is away, and still all that can be loaded is loaded, by the same seed alike', () => {
  const population = { ...smallScenario.population, medianEvents: 3000 };
  const scenario = { ...smallScenario, seed: 3, accounts: 40, population, turnMs: 30_000 };
  const once = seen(scenario);
  const ends = new Set(once.turns.map(({ end }) => end));
  expect([...ends].toSorted()).toEqual(['died', 'done', 'over', 'permanent', 'transient']);
  expect(once.stalls).toBeGreaterThan(10);
  expect(once.turns.some(({ end, at }) => end === 'died' && at === scenario.start + 660_000)).toBe(true);
  const loadable = once.accounts.filter(({ isDenied }) => !isDenied);
  expect(once.backfilled).toEqual(new Set(loadable));
  expect(once.dead.every(({ isDenied }) => isDenied)).toBe(true);
  expect(once.dead.length).toBeGreaterThan(0);
  expect(once.synced).toBeGreaterThan(2 * loadable.length);
  const again = seen(scenario);
  expect(again.turns.map(({ at }) => at)).toEqual(once.turns.map(({ at }) => at));
});

test('processors are never more than busy', () => {
  const population = { ...smallScenario.population, latecomers: 0 };
  const costs = { ...smallScenario.costs, cpuRequest: 1.5 };
  const scenario = { ...smallScenario, population, workers: 1, places: 8, costs };
  const { cpuMs, turns } = seen(scenario);
  const last = Math.max(...turns.filter(({ work }) => work === 'backfill').map(({ at }) => at)) - scenario.start;
  // More than half of what there is until then, so that turns did get in each other's way.
  expect(cpuMs).toBeGreaterThan(last / 2);
  expect(cpuMs).toBeLessThanOrEqual(scenario.days * dayMs);
  expect(mostAtOnce(turns)).toBeGreaterThan(1);
});
