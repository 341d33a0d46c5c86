import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Txn } from '../../../src/lake/delta/actions.js';
import { UnitWindows } from '../../../src/lake/loads/load-windows.js';

test('windows are those of the units that are there, in order, whatever came and went since they were asked for', () => {
  const read = (unit: string) => (unit.startsWith('w') ? { start: unit.length, end: unit.length + 1 } : undefined);
  const unit = fc.constantFrom('w', 'ww', 'www', 'wwww', 'other', 'another');
  const step = fc.record({ unit, isThere: fc.boolean(), isAsked: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const windows = new UnitWindows(read);
      const units = new Map<string, Txn>();
      const expectSame = (): void => {
        const expected = [...units.keys()].flatMap((of) => read(of) ?? []).toSorted((a, b) => a.start - b.start);
        expect(windows.of(units)).toEqual(expected);
      };
      for (const { unit: of, isThere, isAsked } of steps) {
        if (isThere) units.set(of, { appId: of, version: 1 });
        else units.delete(of);
        if (isAsked) expectSame();
      }
      expectSame();
    }),
  );
});

test('the name of a unit is read once', () => {
  let reads = 0;
  const windows = new UnitWindows((unit) => {
    reads++;
    return { start: Number(unit), end: Number(unit) + 1 };
  });
  const units = new Map<string, Txn>();
  for (let unit = 0; unit < 10; unit++) {
    units.set(String(unit), { appId: String(unit), version: 1 });
    expect(windows.of(units)).toHaveLength(unit + 1);
  }
  expect(reads).toBe(10);
});
