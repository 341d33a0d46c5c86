import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Txn } from '../../../src/lake/delta/actions.js';
import { LoadKeyWindows } from '../../../src/lake/loads/load-keys.js';

test('windows are those of the units that are there, in order, whatever came and went since they were asked for', () => {
  const read = (loadKey: string) =>
    loadKey.startsWith('w') ? { start: loadKey.length, end: loadKey.length + 1 } : undefined;
  const loadKey = fc.constantFrom('w', 'ww', 'www', 'wwww', 'other', 'another');
  const step = fc.record({ loadKey, isThere: fc.boolean(), isAsked: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const windows = new LoadKeyWindows(read);
      const loadKeys = new Map<string, Txn>();
      const expectSame = (): void => {
        const expected = [...loadKeys.keys()].flatMap((of) => read(of) ?? []).toSorted((a, b) => a.start - b.start);
        expect(windows.of(loadKeys)).toEqual(expected);
      };
      for (const { loadKey: of, isThere, isAsked } of steps) {
        if (isThere) loadKeys.set(of, { appId: of, version: 1 });
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
  const loadKeys = new Map<string, Txn>();
  for (let loadKey = 0; loadKey < 10; loadKey++) {
    loadKeys.set(String(loadKey), { appId: String(loadKey), version: 1 });
    expect(windows.of(loadKeys)).toHaveLength(loadKey + 1);
  }
  expect(reads).toBe(10);
});
