import { expect, test } from 'vitest';
import { scan } from '../../../../src/core/json/scan.js';
import { Tape } from '../../../../src/core/json/tape.js';
import { Flattener } from '../../../../src/sources/finances/api-v0/flatten.js';
import { attributes } from '../../../../src/sources/finances/api-v0/attributes.js';
import { newWarnings, SliceRows } from '../../../../src/sources/finances/model/slice-rows.js';
import { windowSubject } from '../../../../src/sources/finances/model/slice-rows.js';

test('of 5,000 lists that nobody knows a thousand are named, and every event is counted', () => {
  const rows = new SliceRows(attributes);
  const warnings = newWarnings();
  const flattener = new Flattener(rows, warnings);
  const event = Buffer.from('{"PostedDate":"2026-01-01T00:00:00Z","Fee":{"CurrencyCode":"EUR","CurrencyAmount":1.5}}');
  rows.begin(windowSubject({ start: 0, end: 1 }));
  for (let number = 0; number < 5000; number++) {
    const tape = new Tape();
    scan(event, tape);
    flattener.add(tape, `List${number}`, 0);
  }
  expect(warnings.unknownLists.size).toBe(1001);
  expect(warnings.unknownLists.get('others')).toBe(4000);
  expect(rows.events.length).toBe(5000);
  expect(rows.entries.length).toBe(5000);
});
