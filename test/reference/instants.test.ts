import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instantOf } from './instants.js';

/** Microseconds of an instant that JavaScript reads too. */
const micros = (iso: string): bigint => BigInt(Date.parse(iso)) * 1000n;

describe('the reference reading of dates', () => {
  test('reads every instant of the years 0001 to 9999 as JavaScript writes it, in any zone', () => {
    const instants = fc.date({
      min: new Date('0001-01-03T00:00:00Z'),
      max: new Date('9999-12-29T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instants, fc.integer({ min: -1439, max: 1439 }), (date, offset) => {
        const local = new Date(date.getTime() + offset * 60_000).toISOString().replace('Z', '');
        const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60].map((part) =>
          String(part).padStart(2, '0'),
        );
        const zone = `${offset < 0 ? '-' : '+'}${hours ?? ''}:${minutes ?? ''}`;
        const expected = BigInt(date.getTime()) * 1000n;
        expect(instantOf(date.toISOString())).toBe(expected);
        expect(instantOf(local + zone)).toBe(expected);
        expect(instantOf(local + zone.replace(':', ''))).toBe(expected);
      }),
    );
  });

  test('knows dates alone, times without seconds and times without a zone', () => {
    expect(instantOf('2024-03-01')).toBe(micros('2024-03-01T00:00:00Z'));
    expect(instantOf('2024-03-01T10:05Z')).toBe(micros('2024-03-01T10:05:00Z'));
    expect(instantOf('2024-03-01T10:05-0130')).toBe(micros('2024-03-01T11:35:00Z'));
    expect(instantOf('2024-03-01T10:05:06')).toBe(micros('2024-03-01T10:05:06Z'));
  });

  test('cuts off what is finer than a microsecond, before 1970 too', () => {
    expect(instantOf('2024-03-01T10:00:00.1Z')).toBe(micros('2024-03-01T10:00:00.100Z'));
    expect(instantOf('2024-03-01T10:00:00.123456999Z')).toBe(micros('2024-03-01T10:00:00.123Z') + 456n);
    expect(instantOf('1969-12-31T23:59:59.999999999Z')).toBe(-1n);
  });

  test.each([
    ...['2023-02-29', '2100-02-29', '2024-04-31', '2024-13-01', '2024-00-01', '2024-01-00', '0000-01-01'],
    ...['2024-03-01T24:00:00Z', '2024-03-01T10:60:00Z', '2024-03-01T10:00:60Z', '2024-03-01T10:00:00+24:00'],
    ...[
      '2024-03-01T10:00:00+01:60',
      '2024-03-01T10:00:00+01',
      '2024-03-01T10:00:00.Z',
      '2024-03-01T10:00:00.1234567890Z',
    ],
    ...[
      '2024-03-01t10:00:00Z',
      '2024-03-01T10:00:00z',
      '2024-03-01 10:00:00',
      '2024-03-01T10',
      '2024-03-01Z',
      '2024-3-1',
    ],
    ...['', ' 2024-03-01', '2024-03-01\n', '+002024-03-01', '20240301', '2024-03-01T10:00.5Z'],
  ])('%j is no date', (text) => {
    expect(instantOf(text)).toBeNull();
  });
});
