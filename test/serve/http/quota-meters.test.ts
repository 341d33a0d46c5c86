import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Meter } from '../../../src/serve/http/quota-meters.js';

const count = (times: number, admit: () => boolean) => Array.from({ length: times }, admit).filter(Boolean).length;

test('the burst is there at the start, and no more', () => {
  const meter = new Meter({ rate: 0.5, burst: 30 });
  expect(count(100, () => meter.admit(1_000))).toBe(30);
});

test('a token is back after two seconds, not a millisecond before', () => {
  const meter = new Meter({ rate: 0.5, burst: 30 });
  count(30, () => meter.admit(1_000));
  expect(meter.admit(2_999)).toBe(false);
  expect(meter.admit(3_000)).toBe(true);
  expect(meter.admit(3_000)).toBe(false);
});

test('what is refused costs nothing', () => {
  const meter = new Meter({ rate: 0.5, burst: 1 });
  meter.admit(0);
  count(1_000, () => meter.admit(1_999));
  expect(meter.admit(2_000)).toBe(true);
});

test('a long rest fills the bucket up to the burst', () => {
  const meter = new Meter({ rate: 0.5, burst: 3 });
  count(3, () => meter.admit(0));
  expect(count(10, () => meter.admit(1e9))).toBe(3);
});

test('a clock that goes back refills nothing and takes nothing away', () => {
  const meter = new Meter({ rate: 0.5, burst: 3 });
  meter.admit(10_000);
  expect(count(10, () => meter.admit(0))).toBe(2);
  expect(meter.admit(11_999)).toBe(false);
  expect(meter.admit(12_000)).toBe(true);
});

test.each([
  { rate: 0, burst: 30 },
  { rate: -1, burst: 30 },
  { rate: NaN, burst: 30 },
  { rate: Infinity, burst: 30 },
  { rate: 0.5, burst: 0 },
  { rate: 0.5, burst: 1.5 },
  { rate: 0.5, burst: NaN },
])('refuses $rate a second with a burst of $burst', (quota) => {
  expect(() => new Meter(quota)).toThrow(/expected a (rate|burst)/);
});

test('agrees with a bucket that counts in whole fractions of a token', () => {
  fc.assert(
    fc.property(
      fc.record({ tenths: fc.integer({ min: 1, max: 50 }), burst: fc.integer({ min: 1, max: 40 }) }),
      fc.array(
        fc.integer({ min: 0, max: 30_000 }).chain((gap) => fc.constantFrom(0, 1, gap)),
        { maxLength: 300 },
      ),
      ({ tenths, burst }, gaps) => {
        const meter = new Meter({ rate: tenths / 10, burst });
        // A token is 10,000 parts; a millisecond brings back as many parts as there are tenths.
        let parts = burst * 10_000;
        let now = 1_751_371_200_000;
        for (const gap of gaps) {
          now += gap;
          parts = Math.min(burst * 10_000, parts + gap * tenths);
          const admitted = parts >= 10_000;
          if (admitted) parts -= 10_000;
          expect(meter.admit(now)).toBe(admitted);
        }
      },
    ),
  );
});

describe('another rate', () => {
  test('goes on with what is in the bucket', () => {
    const meter = new Meter({ rate: 0.5, burst: 3 });
    count(3, () => meter.admit(0));
    // Half a token is back, and the other half takes five seconds at the new rate.
    meter.setRate(0.1, 1_000);
    expect(meter.admit(5_999)).toBe(false);
    expect(meter.admit(6_000)).toBe(true);
    expect(meter.admit(15_999)).toBe(false);
    expect(meter.admit(16_000)).toBe(true);
  });

  test('there and back in one instant changes nothing', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 100 }),
        (gaps, rate) => {
          const [plain, turned] = [new Meter({ rate: 0.5, burst: 4 }), new Meter({ rate: 0.5, burst: 4 })];
          let now = 1_751_371_200_000;
          for (const gap of gaps) {
            now += gap;
            turned.setRate(rate, now);
            turned.setRate(0.5, now);
            expect(turned.admit(now)).toBe(plain.admit(now));
          }
        },
      ),
    );
  });

  test('of 0 is refused', () => {
    expect(() => {
      new Meter({ rate: 1, burst: 1 }).setRate(0, 0);
    }).toThrow(/expected a rate above 0/);
  });
});
