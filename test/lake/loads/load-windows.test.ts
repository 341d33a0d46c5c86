import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LoadKeyWindows } from '../../../src/lake/loads/load-keys.js';

/** As a snapshot has them: every commit makes another map. */
const keysOf = (loadKeys: ReadonlySet<string>) => new Map([...loadKeys].map((loadKey) => [loadKey, {}]));

test('windows are those of the load keys that are there, in order, whatever came and went since they were asked for', () => {
  const read = (loadKey: string) =>
    loadKey.startsWith('w') ? { start: loadKey.length, end: loadKey.length + 1 } : undefined;
  const loadKey = fc.constantFrom('w', 'ww', 'www', 'wwww', 'other', 'another');
  const step = fc.record({ loadKey, isThere: fc.boolean(), isAsked: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const windows = new LoadKeyWindows(read);
      const loadKeys = new Set<string>();
      const expectSame = (): void => {
        const expected = [...loadKeys.keys()].flatMap((of) => read(of) ?? []).toSorted((a, b) => a.start - b.start);
        expect(windows.of(keysOf(loadKeys))).toEqual(expected);
      };
      for (const { loadKey: of, isThere, isAsked } of steps) {
        if (isThere) loadKeys.add(of);
        else loadKeys.delete(of);
        if (isAsked) expectSame();
      }
      expectSame();
    }),
  );
});

test('the name of a unit is read once', () => {
  let reads = 0;
  const windows = new LoadKeyWindows((loadKey) => {
    reads++;
    return { start: Number(loadKey), end: Number(loadKey) + 1 };
  });
  const loadKeys = new Set<string>();
  for (let loadKey = 0; loadKey < 10; loadKey++) {
    loadKeys.add(String(loadKey));
    expect(windows.of(keysOf(loadKeys))).toHaveLength(loadKey + 1);
  }
  expect(reads).toBe(10);
});
