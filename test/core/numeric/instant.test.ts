import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isoInstant, readInstant, readInstantBytes } from '../../../src/core/numeric/instant.js';
import { instantOf } from '../../reference/instants.js';

test.each([
  ['2025-03-04T05:06:07Z', '2025-03-04T05:06:07.000Z', 0n],
  ['2025-03-04', '2025-03-04T00:00:00.000Z', 0n],
  ['2024-02-29T23:59Z', '2024-02-29T23:59:00.000Z', 0n],
  ['2025-03-04T05:06:07.123456789Z', '2025-03-04T05:06:07.123Z', 456n],
  ['2025-03-04T05:06:07+09:30', '2025-03-03T19:36:07.000Z', 0n],
  ['2025-03-04T05:06:07-0100', '2025-03-04T06:06:07.000Z', 0n],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z', 0n],
])('%s', (text, iso, micros) => {
  expect(readInstant(text)).toBe(BigInt(Date.parse(iso)) * 1000n + micros);
});

test.each([
  '2025-02-29',
  '2025-04-31',
  '2025-00-10',
  '2025-01-01T24:00:00Z',
  '2025-01-01T00:60:00Z',
  '0000-01-01',
  '2025-01-01t00:00:00z',
  '2025-01-01 00:00:00',
  '20250101',
  '2025-01-01T00:00:60Z',
  '2025-01-01T00:00:00.Z',
  '2025-01-01Z',
  ' 2025-01-01',
])('%j is none', (text) => {
  expect(readInstant(text)).toBeUndefined();
});

describe('beside the reference', () => {
  const two = (most: number) => fc.nat(most).map((number) => String(number).padStart(2, '0'));
  const zone = fc.oneof(
    fc.constantFrom('Z', '', 'z'),
    fc.tuple(fc.constantFrom('+', '-'), two(25), fc.constantFrom(':', ''), two(61)).map((parts) => parts.join('')),
  );
  const text = fc
    .tuple(
      fc.nat(9999),
      two(13),
      two(32),
      fc.constantFrom('T', ' ', 't'),
      two(25),
      two(61),
      two(61),
      fc.option(fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), maxLength: 10 })),
      zone,
    )
    .map(([year, month, day, t, hour, minute, second, fraction, at]) => {
      const date = `${String(year).padStart(4, '0')}-${month}-${day}`;
      return `${date}${t}${hour}:${minute}:${second}${fraction === null ? '' : `.${fraction}`}${at}`;
    });

  test('made-up dates, most of them odd', () => {
    fc.assert(
      fc.property(text, (made) => {
        expect(readInstant(made) ?? null).toBe(instantOf(made));
      }),
      { numRuns: 20_000 },
    );
  });

  test('every instant of the calendar comes back', () => {
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(1, 0) - 0, max: 253_402_300_799_999 }), (ms) => {
        fc.pre(ms >= -62_135_596_800_000);
        expect(readInstant(isoInstant(ms))).toBe(BigInt(ms) * 1000n);
      }),
    );
  });
});

test('the bytes of a text say what the text says', () => {
  const two = (most: number) => fc.integer({ min: 0, max: most }).map((value) => String(value).padStart(2, '0'));
  const year = fc.integer({ min: 1960, max: 2410 }).map(String);
  const fraction = fc.stringMatching(/^[.,]\d{0,10}Z$/);
  const end = fc.oneof({ weight: 2, arbitrary: fc.constantFrom('Z', 'z', '+') }, fraction);
  const usual = fc
    .tuple(year, two(13), two(32), two(24), two(60), two(60), end)
    .map(([y, m, d, h, min, s, behind]) => `${y}-${m}-${d}T${h}:${min}:${s}${behind}`);
  const broken = fc
    .tuple(usual, fc.nat(24), fc.constantFrom('/', ':', '0', ' ', 'é'))
    .map(([text, at, other]) => text.slice(0, at) + other + text.slice(at + 1));
  fc.assert(
    fc.property(fc.oneof(usual, broken), (text) => {
      const bytes = Buffer.from(`"${text}"`);
      expect(readInstantBytes(bytes, 1, bytes.length - 1)).toBe(readInstant(text));
    }),
    { numRuns: 3000 },
  );
});
