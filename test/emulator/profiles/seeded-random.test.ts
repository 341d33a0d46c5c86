import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Draw, hash, seedKey } from '../../../src/emulator/profiles/seeded-random.js';

const numbers = fc.integer({ min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });

describe('draws', () => {
  test('repeat themselves for the same key, number and salt, whatever was drawn before', () => {
    fc.assert(
      fc.property(fc.nat(), numbers, fc.nat({ max: 100 }), fc.nat({ max: 20 }), (key, n, salt, before) => {
        const used = new Draw().begin(key + 1, n, salt);
        for (let left = before; left > 0; left--) used.below(10);
        const draw = (from: Draw) => Array.from({ length: 20 }, () => from.below(1000));
        expect(draw(used.begin(key, n, salt))).toEqual(draw(new Draw().begin(key, n, salt)));
      }),
    );
  });

  test('stay below their bound and reach every number', () => {
    const draw = new Draw().begin(1, 2, 3);
    const counts = new Map<number, number>();
    for (let left = 6000; left > 0; left--) {
      const drawn = draw.between(1, 6);
      counts.set(drawn, (counts.get(drawn) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual([1, 2, 3, 4, 5, 6]);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });

  test('make digits and codes of the length asked for', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 20 }), (key, length) => {
        const draw = new Draw().begin(key, 0, 0);
        expect(draw.digits(length)).toMatch(new RegExp(`^[1-9]\\d{${length - 1}}$`));
        expect(draw.code(length)).toMatch(new RegExp(`^[A-Z0-9]{${length}}$`));
      }),
    );
  });
});

test('a hash is 32 bits, and neighbours, salts and keys all change it', () => {
  fc.assert(
    fc.property(fc.nat(), numbers, fc.nat({ max: 100 }), (key, n, salt) => {
      const value = hash(key, n, salt);
      expect(value).toBe(value >>> 0);
      const others = [hash(key, n + 1, salt), hash(key, n, salt + 1), hash(key + 1, n, salt)];
      // By chance two in 2^32 are equal, but never more than one of three.
      expect(others.filter((other) => other === value).length).toBeLessThan(2);
    }),
  );
});

test('seeds have keys of their own', () => {
  const seeds = [...Array.from({ length: 5000 }, (_, n) => n), 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1];
  expect(new Set(seeds.map(seedKey)).size).toBe(seeds.length);
});
