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
  type JobKind,
} from '../../../src/app/fleet/turns.js';

const minute = 60_000;
const hour = 60 * minute;
const now = Date.parse('2026-03-04T05:06:07Z');

const works = fc.constantFrom<JobKind>('sync', 'backfill');
const spans = fc.integer({ min: 0, max: 40 * hour });
/** Of one counting of minutes, with the longest handicap. */
const instants = fc.integer({ min: now, max: Date.parse('2029-10-15T00:00:00Z') });
const turns = fc.integer({ min: minute, max: 2 * hour });
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
        const [sync, backfill] = (['sync', 'backfill'] as const).map((one) => turnPriority(one, standing, askedAt));
        expect(sync).toBeLessThan(backfill ?? 0);
      }),
    );
  });

  test('a newcomer goes before an account that was worked on for a turn, be it a minute', () => {
    fc.assert(
      fc.property(works, instants, turns, (work, askedAt, turnMs) => {
        const served = { servedMs: turnMs, failures: 0 };
        expect(turnPriority(work, newcomer, askedAt)).toBeLessThan(turnPriority(work, served, askedAt));
      }),
    );
  });

  test('the largest account goes before all that ask a bounded time later', () => {
    const bound = turnRules.longestHandicapMs + turnRules.headStartMs + minute;
    fc.assert(
      fc.property(works, works, standings, instants, spans, (work, other, standing, askedAt, later) => {
        const huge = turnPriority(work, standing, askedAt);
        expect(turnPriority(other, newcomer, askedAt + bound + later)).toBeGreaterThan(huge);
      }),
    );
  });

  test('where minutes are counted from the beginning again, those who ask later are the first', () => {
    const wrap = Date.parse('2029-10-23T08:00:00Z');
    expect(turnPriority('sync', newcomer, wrap - 1)).toBe(lastPriority);
    expect(turnPriority('sync', newcomer, wrap)).toBe(1);
    expect(turnPriority('backfill', newcomer, wrap)).toBe(1 + turnRules.headStartMs / minute);
  });
});

/**
 * Accounts with so many minutes of work each, asked for at some minute in their order, on one place: when each came to its
 * end, in minutes.
 */
function played(
  asked: readonly { readonly at: number; readonly minutes: number; readonly work?: JobKind }[],
  until: number,
  turnMs: number = turnRules.turnMs,
): number[] {
  const accounts = asked.map(({ at, minutes, work = 'backfill' }, index) => ({
    index,
    work,
    at: now + at * minute,
    left: minutes * minute,
    standing: newcomer,
  }));
  const step = Math.min(minute, turnMs);
  const ended = asked.map(() => Infinity);
  const open = new Set<(typeof accounts)[number]>();
  let come = 0;
  const first = (time: number) => {
    for (; come < accounts.length; come++) {
      const account = accounts[come];
      if (account === undefined || account.at > time) break;
      open.add(account);
    }
    return [...open]
      .map((account) => ({ account, priority: turnPriority(account.work, account.standing, account.at) }))
      .toSorted((one, other) => one.priority - other.priority || one.account.at - other.account.at)[0];
  };
  for (let time = now; time < now + until * minute;) {
    const next = first(time);
    if (next === undefined) {
      time += step;
      continue;
    }
    const { account } = next;
    open.delete(account);
    const { standing, work } = account;
    const waitedMs = time - account.at;
    for (let ranMs = 0; ; ranMs += step) {
      const turn = { kind: work, standing, waitedMs, ranMs, firstWaiting: first(time)?.priority, hasUrgentJob: false };
      if (account.left <= 0 || isTurnOver(turn, time, turnMs)) {
        const end = account.left <= 0 ? 'done' : 'over';
        const after = afterTurn(standing, { end, ranMs, hasCommitted: true }, () => 0);
        account.standing = after.standing;
        break;
      }
      account.left -= step;
      time += step;
    }
    account.at = time;
    if (account.left <= 0) ended[account.index] = (time - now) / minute;
    else open.add(account);
  }
  return ended;
}

/** Turns, in minutes. */
const lengths = [0.25, 1, 3, 10, 30] as const;

describe('a place that all share', () => {
  test.each(lengths)('a small account waits for one turn of %d minutes of a huge one, not for all of it', (turn) => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 10 }), works, (at, minutes, work) => {
        const huge = { at: 0, minutes: 10_000, work };
        const ended = played([huge, { at, minutes, work }], 400, turn * minute);
        // Where it has turns of its own, it gives way as well until the huge one has fallen behind.
        const turns = turn >= minutes ? 1 : 1 + (minutes + 1) / turn;
        expect(ended[1]).toBeLessThanOrEqual(at + minutes + Math.max(1, turns * turn));
      }),
      { numRuns: 30 },
    );
  });

  test.each(lengths)('huge accounts have their part of a place that others fill, with turns of %d minutes', (turn) => {
    const minutes = 150;
    // By least service alone it would go on behind the last of them, and with short turns for what is left of its life.
    const most = minutes * (1 / turnRules.shareOfWait + 2);
    for (const size of [1, 5]) {
      const small = Array.from({ length: Math.ceil(most / size) }, (_, n) => ({ at: n * size, minutes: size }));
      const ended = played([{ at: 0, minutes }, ...small], most + 1, turn * minute);
      expect(ended[0]).toBeLessThan(most);
      expect(ended[0]).toBeGreaterThan(2 * minutes);
    }
  });

  test('syncs that never come to their end leave a place to backfills after some hours', () => {
    const syncs = Array.from({ length: 3 }, () => ({ at: 0, minutes: 100_000, work: 'sync' as const }));
    const minutes = 30;
    const [ended] = played([{ at: 0, minutes }, ...syncs], 60 * 24, minute);
    expect(ended).toBeGreaterThan(60);
    expect(ended).toBeLessThanOrEqual(minutes * (1 / turnRules.shareOfWait + 1) + turnRules.headStartMs / minute);
  });
});

describe('how long a turn is', () => {
  const turn = {
    kind: 'backfill',
    standing: newcomer,
    waitedMs: 0,
    ranMs: turnRules.turnMs,
    hasUrgentJob: false,
  } as const;

  test('it goes on while nobody waits, or only those who would be behind', () => {
    expect(isTurnOver({ ...turn, ranMs: 100 * hour, firstWaiting: undefined }, now)).toBe(false);
    expect(isTurnOver({ ...turn, firstWaiting: lastPriority }, now)).toBe(false);
    expect(isTurnOver({ ...turn, firstWaiting: 1 }, now)).toBe(true);
  });

  test('a sync gives its place back as well, to who goes before it', () => {
    const sync = { ...turn, kind: 'sync' } as const;
    const [backfill, other] = (['backfill', 'sync'] as const).map((work) => turnPriority(work, newcomer, now));
    expect(isTurnOver({ ...sync, firstWaiting: other }, now)).toBe(true);
    expect(isTurnOver({ ...sync, firstWaiting: backfill }, now)).toBe(false);
    expect(isTurnOver({ ...sync, ranMs: turnRules.headStartMs + minute, firstWaiting: backfill }, now)).toBe(true);
  });

  test('it lasts its time whoever waits', () => {
    const ranMs = turnRules.turnMs - 1;
    expect(isTurnOver({ ...turn, ranMs, firstWaiting: 1, hasUrgentJob: true }, now)).toBe(false);
    expect(isTurnOver({ ...turn, firstWaiting: undefined, hasUrgentJob: true }, now)).toBe(true);
  });
});

describe('what comes after a turn', () => {
  const failed = { end: 'transient', ranMs: 5000, hasCommitted: false } as const;

  test('service adds up, and only what fails is put off', () => {
    fc.assert(
      fc.property(
        standings,
        spans,
        fc.boolean(),
        fc.constantFrom('done', 'over'),
        (before, ranMs, hasCommitted, end) => {
          const after = afterTurn(before, { end, ranMs, hasCommitted: hasCommitted }, () => 0.5);
          expect(after).toMatchObject({ next: 'again', delayMs: 0, standing: { servedMs: before.servedMs + ranMs } });
        },
      ),
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
    expect(pauses).toHaveLength(turnRules.maxFailures - 1);
  });

  test('a turn that brought something is no step towards them', () => {
    const last = { servedMs: 0, failures: turnRules.maxFailures - 1 };
    expect(afterTurn(last, failed, () => 0).next).toBe('dead');
    expect(afterTurn(last, { ...failed, hasCommitted: true }, () => 0)).toMatchObject({
      next: 'again',
      standing: { failures: 1 },
    });
    expect(afterTurn(last, { end: 'over', ranMs: 1, hasCommitted: false }, () => 0).standing.failures).toBe(
      last.failures,
    );
    expect(afterTurn(last, { end: 'done', ranMs: 1, hasCommitted: false }, () => 0).standing.failures).toBe(0);
  });

  test('what stays until it is mended goes there at once', () => {
    expect(afterTurn(newcomer, { ...failed, end: 'permanent', hasCommitted: true }, () => 0).next).toBe('dead');
  });
});
