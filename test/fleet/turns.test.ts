import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterTurn,
  isTurnOver,
  lastPriority,
  newcomer,
  turnPriority,
  turnRules,
  type Standing,
  type Work,
} from '../../src/fleet/turns.js';

const minute = 60_000;
const hour = 60 * minute;
const now = Date.parse('2026-03-04T05:06:07Z');

const works = fc.constantFrom<Work>('sync', 'backfill');
const spans = fc.integer({ min: 0, max: 40 * hour });
const instants = fc.integer({ min: now, max: now + 15 * 365 * 24 * hour });
const standings: fc.Arbitrary<Standing> = fc.record({ servedMs: spans, failures: fc.nat(40) });

describe('who goes first', () => {
  test('priorities are what BullMQ takes, at any time', () => {
    fc.assert(
      fc.property(works, standings, fc.integer({ min: 0, max: 8.64e15 }), (work, standing, askedAt) => {
        const priority = turnPriority(work, standing, askedAt);
        expect(Number.isInteger(priority) && priority >= 1 && priority <= lastPriority).toBe(true);
      }),
    );
  });

  test('who asked earlier, or was worked on less, is never behind; a sync is never behind a backfill', () => {
    fc.assert(
      fc.property(works, standings, instants, spans, (work, standing, askedAt, more) => {
        const priority = turnPriority(work, standing, askedAt);
        expect(turnPriority(work, standing, askedAt + more)).toBeGreaterThanOrEqual(priority);
        expect(turnPriority(work, { ...standing, servedMs: standing.servedMs + more }, askedAt)).toBeGreaterThanOrEqual(
          priority,
        );
        expect(turnPriority('sync', standing, askedAt)).toBeLessThan(turnPriority('backfill', standing, askedAt));
      }),
    );
  });

  test('a newcomer goes before an account that was worked on for a turn', () => {
    fc.assert(
      fc.property(works, instants, (work, askedAt) => {
        const served = { servedMs: turnRules.turnMs, failures: 0 };
        expect(turnPriority(work, newcomer, askedAt)).toBeLessThan(turnPriority(work, served, askedAt));
      }),
    );
  });

  test('the largest account goes before all that ask a bounded time later', () => {
    const bound = turnRules.longestHandicapMs + turnRules.headStartMs + 5 * minute;
    fc.assert(
      fc.property(works, works, standings, instants, spans, (work, other, standing, askedAt, later) => {
        const huge = turnPriority(work, standing, askedAt);
        expect(turnPriority(other, newcomer, askedAt + bound + later)).toBeGreaterThan(huge);
      }),
    );
  });
});

/** Accounts with so many minutes of work each, asked for at some minute, on one place: when each came to its end. */
function played(asked: readonly { readonly at: number; readonly minutes: number }[], until: number): number[] {
  const accounts = asked.map(({ at, minutes }, index) => ({
    ...{ index, at: now + at * minute, left: minutes * minute },
    standing: newcomer,
  }));
  const ended = asked.map(() => Infinity);
  const open = new Set(accounts);
  const first = (time: number) =>
    [...open]
      .filter(({ at }) => at <= time)
      .map((account) => ({ account, priority: turnPriority('backfill', account.standing, account.at) }))
      .toSorted((one, other) => one.priority - other.priority || one.account.at - other.account.at)[0];
  for (let time = now; time < now + until * minute;) {
    const next = first(time);
    if (next === undefined) {
      time += minute;
      continue;
    }
    const { account } = next;
    open.delete(account);
    const { standing } = account;
    for (let ranMs = 0; ; ranMs += minute) {
      const turn = { work: 'backfill', standing, ranMs, firstWaiting: first(time)?.priority } as const;
      if (account.left === 0 || isTurnOver({ ...turn, hasFirstWork: false }, time)) {
        const end = account.left === 0 ? 'done' : 'over';
        const after = afterTurn(standing, { end, ranMs, hasBrought: true }, () => 0);
        account.standing = after.standing;
        break;
      }
      account.left -= minute;
      time += minute;
    }
    account.at = time;
    if (account.left === 0) ended[account.index] = (time - now) / minute;
    else open.add(account);
  }
  return ended;
}

describe('a place that all share', () => {
  test('a small account waits for one turn of a huge one, not for all of it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 10 }), (at, minutes) => {
        const small = { at, minutes };
        const ended = played([{ at: 0, minutes: 10_000 }, small], 400);
        expect(ended[1]).toBeLessThanOrEqual(at + minutes + turnRules.turnMs / minute);
      }),
      { numRuns: 30 },
    );
  });

  test('huge accounts come to their turn beside small ones that never end', () => {
    const small = Array.from({ length: 300 }, (_, n) => ({ at: n * 5, minutes: 5 }));
    const ended = played([{ at: 0, minutes: 60 }, ...small], 1500);
    // They fill the place by themselves: by least service alone it would go on behind the last of them.
    expect(ended[0]).toBeLessThan(1000);
    expect(ended[0]).toBeGreaterThan(60);
  });
});

describe('how long a turn is', () => {
  const turn = { work: 'backfill', standing: newcomer, ranMs: turnRules.turnMs, hasFirstWork: false } as const;

  test('it goes on while nobody waits, or only those who would be behind', () => {
    expect(isTurnOver({ ...turn, ranMs: 100 * hour, firstWaiting: undefined }, now)).toBe(false);
    expect(isTurnOver({ ...turn, firstWaiting: lastPriority }, now)).toBe(false);
    expect(isTurnOver({ ...turn, firstWaiting: 1 }, now)).toBe(true);
  });

  test('a sync is not cut short', () => {
    expect(isTurnOver({ ...turn, work: 'sync', ranMs: 100 * hour, firstWaiting: 1 }, now)).toBe(false);
  });

  test('it lasts its time whoever waits', () => {
    const ranMs = turnRules.turnMs - 1;
    expect(isTurnOver({ ...turn, ranMs, firstWaiting: 1, hasFirstWork: true }, now)).toBe(false);
    expect(isTurnOver({ ...turn, firstWaiting: undefined, hasFirstWork: true }, now)).toBe(true);
  });
});

describe('what comes after a turn', () => {
  const failed = { end: 'passing', ranMs: 5000, hasBrought: false } as const;

  test('service adds up, and only what fails is put off', () => {
    fc.assert(
      fc.property(standings, spans, fc.boolean(), fc.constantFrom('done', 'over'), (before, ranMs, hasBrought, end) => {
        const after = afterTurn(before, { end, ranMs, hasBrought }, () => 0.5);
        expect(after).toMatchObject({ next: 'again', delayMs: 0, standing: { servedMs: before.servedMs + ranMs } });
      }),
    );
  });

  test('pauses between failures grow up to a bound, and the last failure leads to the dead letters', () => {
    let standing = newcomer;
    const pauses: number[] = [];
    for (;;) {
      const after = afterTurn(standing, failed, () => 1);
      standing = after.standing;
      if (after.next === 'dead') break;
      pauses.push(after.delayMs);
    }
    expect(pauses.slice(0, 4)).toEqual([minute, 2 * minute, 4 * minute, 8 * minute]);
    expect(pauses.at(-1)).toBe(turnRules.pauses.longestPauseMs);
    expect(pauses).toHaveLength(turnRules.mostFailures - 1);
  });

  test('a turn that brought something is no step towards them', () => {
    const last = { servedMs: 0, failures: turnRules.mostFailures - 1 };
    expect(afterTurn(last, failed, () => 0).next).toBe('dead');
    expect(afterTurn(last, { ...failed, hasBrought: true }, () => 0)).toMatchObject({
      next: 'again',
      standing: { failures: 1 },
    });
    expect(afterTurn(last, { end: 'over', ranMs: 1, hasBrought: false }, () => 0).standing.failures).toBe(
      last.failures,
    );
    expect(afterTurn(last, { end: 'done', ranMs: 1, hasBrought: false }, () => 0).standing.failures).toBe(0);
  });

  test('what stays until it is mended goes there at once', () => {
    expect(afterTurn(newcomer, { ...failed, end: 'lasting', hasBrought: true }, () => 0).next).toBe('dead');
  });
});
