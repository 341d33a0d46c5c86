import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  reportDay,
  reportInstant,
  slashOrderOf,
} from '../../../../src/sources/finances/settlement-reports/date-forms.js';

function iso(micros: bigint | undefined): string | undefined {
  return micros === undefined ? undefined : new Date(Number(micros / 1000n)).toISOString();
}

describe('dates', () => {
  test.each([
    ['2026-03-02 07:11:20 UTC', '2026-03-02T07:11:20.000Z'],
    ['02.03.2026 07:11:20 UTC', '2026-03-02T07:11:20.000Z'],
    ['03/02/26', '2026-03-02T00:00:00.000Z'],
    ['03/02/2026', '2026-03-02T00:00:00.000Z'],
    ['2026-03-02', '2026-03-02T00:00:00.000Z'],
    ['2026/03/02', '2026-03-02T00:00:00.000Z'],
    ['2026-03-02T07:11:20Z', '2026-03-02T07:11:20.000Z'],
    ['2026-03-02T07:11:20+09:00', '2026-03-01T22:11:20.000Z'],
    ['2026-03-02 07:11 GMT', '2026-03-02T07:11:00.000Z'],
    ['3/2/2026 7:11:20 PM', '2026-03-02T19:11:20.000Z'],
    ['3/2/2026 12:11:20 AM', '2026-03-02T00:11:20.000Z'],
  ])('%s', (text, expected) => {
    expect(iso(reportInstant(text, 'month-first'))).toBe(expected);
  });

  test.each([
    '',
    'yesterday',
    '2026-02-30',
    '13/02/26',
    '2026-03-02 25:00:00 UTC',
    '2026-03-02 07:11:20 PST',
    '1.2',
    '02.03.20261',
  ])('%j is none', (text) => {
    expect(reportInstant(text, 'month-first')).toBeUndefined();
  });

  test('the day is that of the text, whatever its zone', () => {
    expect(reportDay('2026-03-02T23:00:00-08:00', 'month-first')).toBe(Date.UTC(2026, 2, 2) / 86_400_000);
    expect(reportDay('02.03.2026', 'month-first')).toBe(Date.UTC(2026, 2, 2) / 86_400_000);
  });

  test('any second in any form is that second', () => {
    const seconds = fc.integer({ min: Date.UTC(2000) / 1000, max: Date.UTC(2099) / 1000 });
    fc.assert(
      fc.property(seconds, (second) => {
        const [date = '', time = ''] = new Date(second * 1000).toISOString().slice(0, 19).split('T');
        const [year = '', month = '', day = ''] = date.split('-');
        const micros = BigInt(second) * 1_000_000n;
        expect(reportInstant(`${date} ${time} UTC`, 'month-first')).toBe(micros);
        expect(reportInstant(`${day}.${month}.${year} ${time} UTC`, 'month-first')).toBe(micros);
        expect(reportInstant(`${month}/${day}/${year.slice(2)} ${time}`, 'month-first')).toBe(micros);
        expect(reportInstant(`${day}/${month}/${year} ${time} UTC`, 'day-first')).toBe(micros);
      }),
    );
  });
});

describe('the order of dates with slashes', () => {
  const [first, last] = [Date.UTC(2026, 2, 2) / 86_400_000, Date.UTC(2026, 2, 16) / 86_400_000];
  const isWithin = (day: number) => day >= first && day <= last;

  test.each([
    [['03/04/26', '03/15/26'], 'month-first'],
    [['04/03/26', '15/03/26'], 'day-first'],
    [['03/04/26'], 'month-first'],
    [['04/03/26'], 'day-first'],
    [['03/03/26'], 'month-first'],
    [['05/06/26'], 'month-first'],
    [[], 'month-first'],
  ] as const)('%j: %s', (texts, order) => {
    expect(slashOrderOf(texts, isWithin)).toBe(order);
  });
});
