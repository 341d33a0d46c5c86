import { expect, test } from 'vitest';
import { scan } from '../../../../src/core/json/scan.js';
import { Tape } from '../../../../src/core/json/tape.js';
import { JsonNode } from '../../../../src/sources/records/json-node.js';
import { payoutKey, summaryKey } from '../../../../src/sources/finances/api-2024-06-19/record-rows.js';

function json(value: unknown): JsonNode {
  const tape = new Tape();
  scan(Buffer.from(JSON.stringify(value)), tape);
  return new JsonNode(tape);
}

test.each([undefined, null, '', 12, true, ['x'], { a: 1 }])(
  'records whose identifier is %j are never taken for one',
  (value) => {
    expect(payoutKey(json({ id: value, type: 'TRANSFER' }))).toBeUndefined();
    expect(summaryKey(json({ periodStart: value, netProceeds: { currencyCode: 'EUR' } }))).toBeUndefined();
  },
);

test.each([null, 7, 'x', []])('a record that is %j has no key', (record) => {
  expect(payoutKey(json(record))).toBeUndefined();
  expect(summaryKey(json(record))).toBeUndefined();
});

test('summaries of one settlement differ by account, currency or period', () => {
  const summary = (account: string, currencyCode: string, periodStart: string) =>
    summaryKey(json({ periodStart, partnerMetadata: { accountType: account }, netProceeds: { currencyCode } }));
  const keys = [
    summary('Standard', 'EUR', '2026-03-01T00:00:00Z'),
    summary('Invoiced', 'EUR', '2026-03-01T00:00:00Z'),
    summary('Standard', 'SEK', '2026-03-01T00:00:00Z'),
    summary('Standard', 'EUR', '2026-03-15T00:00:00Z'),
  ];
  expect(new Set(keys).size).toBe(4);
  expect(summary('Standard', 'EUR', '2026-03-01T00:00:00Z')).toBe(keys[0]);
});
