import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReusedMemory } from '../../../src/core/columns/memory.js';

test('arrays are zeros, begin at multiples of 64, and none reaches into another, however often the memory is given out', () => {
  const arrays = fc.array(fc.record({ isBytes: fc.boolean(), length: fc.integer({ min: 0, max: 90 }) }));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2000 }), fc.array(arrays, { maxLength: 3 }), (size, rounds) => {
      const memory = new ReusedMemory(size);
      for (const round of rounds) {
        memory.clear();
        const given = round.map(({ isBytes, length }, at) => {
          const array = isBytes ? memory.bytes(length) : memory.int32s(length);
          expect(array).toHaveLength(length);
          expect(array.byteOffset % 64).toBe(0);
          expect(array.every((value) => value === 0)).toBe(true);
          return array.fill(at + 1);
        });
        given.forEach((array, at) => {
          expect(array.every((value) => value === at + 1)).toBe(true);
        });
      }
    }),
  );
});

test('what fits lies in one piece of memory, which is given out again, and the rest in its own', () => {
  const memory = new ReusedMemory(256);
  const [first, second, third] = [memory.int32s(32), memory.bytes(128), memory.bytes(1)];
  expect(second.buffer).toBe(first.buffer);
  expect(third.buffer).not.toBe(first.buffer);
  memory.clear();
  expect(memory.bytes(256).buffer).toBe(first.buffer);
});
