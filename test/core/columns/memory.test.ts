import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReusedMemory, SharedArrays } from '../../../src/core/columns/memory.js';

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

test('copies that threads share hold the same values, none reaches into another, and the memory for as much again takes all', () => {
  const values = fc.oneof(
    fc.int32Array({ maxLength: 90 }),
    fc.uint8Array({ maxLength: 90 }),
    fc.bigInt64Array({ maxLength: 90 }),
  );
  fc.assert(
    fc.property(fc.array(fc.array(values), { minLength: 2, maxLength: 4 }), (rounds) => {
      let memory: SharedArrayBuffer | undefined;
      for (const round of rounds) {
        const arrays = new SharedArrays(memory);
        const copies = round.map((array) =>
          array instanceof Int32Array
            ? arrays.int32s(array)
            : array instanceof Uint8Array
              ? arrays.bytes(array)
              : arrays.int64s([...array]),
        );
        expect(copies).toEqual(round);
        expect(copies.every(({ buffer }) => buffer instanceof SharedArrayBuffer)).toBe(true);
        memory = arrays.reusable;
        const again = new SharedArrays(memory);
        for (const array of round) if (array instanceof Int32Array) expect(again.int32s(array).buffer).toBe(memory);
      }
    }),
  );
});
