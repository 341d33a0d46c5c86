import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rangeMarginMs, readDateRange } from '../../../src/app/configuration/range.js';
import { dayMs } from '../../../src/core/windows.js';

const now = Date.UTC(2026, 2, 15, 12, 34, 56, 789);

describe('a range left out', () => {
  test('ends the margin before now, to the second, and begins 90 days before on a whole day', () => {
    const { start, end } = readDateRange({ from: undefined, to: undefined }, now);
    expect(end).toBe(Date.UTC(2026, 2, 15, 12, 29, 56));
    expect(start).toBe(Date.UTC(2025, 11, 15));
  });

  test('at any instant it covers 90 days and stays behind the two-minute rule', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), (instant) => {
        const { start, end } = readDateRange({ from: undefined, to: undefined }, instant);
        expect(instant - end).toBeGreaterThanOrEqual(rangeMarginMs);
        expect(instant - end).toBeLessThan(rangeMarginMs + 1000);
        expect(end - start).toBeGreaterThanOrEqual(90 * dayMs);
        expect(end - start).toBeLessThan(91 * dayMs);
      }),
    );
  });
});

test('dates are midnights in UTC, instants are taken to the millisecond', () => {
  expect(readDateRange({ from: '2025-01-31', to: '2025-02-01T06:00:00.25+02:00' }, now)).toEqual({
    start: Date.UTC(2025, 0, 31),
    end: Date.UTC(2025, 1, 1, 4, 0, 0, 250),
  });
});

test('an end in the future is drawn back to the margin', () => {
  expect(readDateRange({ from: '2026-03-01', to: '2027-01-01' }, now).end).toBe(Date.UTC(2026, 2, 15, 12, 29, 56));
});

describe('refused with exit code 2', () => {
  const refused = (from: string | undefined, to: string | undefined) => {
    try {
      readDateRange({ from, to }, now);
    } catch (error) {
      return error;
    }
    return undefined;
  };

  test.each(['yesterday', '2025-02-30', '2025-13-01', '2025-01-01T25:00:00Z', '', '01/02/2025', '2025-1-1'])(
    'a date that is none: %j',
    (text) => {
      expect(refused(text, undefined)).toMatchObject({ code: 'USAGE', exitCode: 2 });
      expect(refused(text, undefined)).toHaveProperty('message', expect.stringContaining(JSON.stringify(text)));
      expect(refused(undefined, text)).toHaveProperty('message', expect.stringContaining('--to'));
    },
  );

  test('a range the wrong way round, and an empty one', () => {
    expect(refused('2025-02-01', '2025-01-01')).toMatchObject({ code: 'USAGE', exitCode: 2 });
    expect(refused('2025-02-01', '2025-02-01')).toMatchObject({ code: 'USAGE' });
  });

  test('a range that lies in the future', () => {
    expect(refused('2026-03-15T12:33:00Z', undefined)).toMatchObject({ code: 'USAGE' });
    expect(refused('2027-01-01', '2027-02-01')).toMatchObject({ code: 'USAGE' });
  });

  test('a beginning in the future is what is wrong, whatever the end is', () => {
    for (const to of [undefined, '2026-04-01', '2028-01-01']) {
      expect(refused('2027-01-01', to)).toHaveProperty(
        'message',
        expect.stringMatching(
          /^expected --from to be at least 5 minutes ago, got 2027-01-01.*, which is in the future;/,
        ),
      );
    }
    const tooNew = refused('2026-03-15T12:33:00Z', undefined);
    expect(tooNew).toHaveProperty('message', expect.stringContaining('at least 5 minutes ago, got 2026-03-15T12:33'));
    expect(tooNew).not.toHaveProperty('message', expect.stringContaining('future'));
  });
});
