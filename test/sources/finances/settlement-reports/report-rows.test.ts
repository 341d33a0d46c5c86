import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeFile } from '../../../../src/core/parquet/encode-file.js';
import { settlementsIn } from '../../../../src/sources/finances/settlement-reports/report-document.js';
import { decodeLine, encodingOf } from '../../../../src/sources/finances/settlement-reports/report-encodings.js';
import {
  readSettlement,
  type SettlementRows,
} from '../../../../src/sources/finances/settlement-reports/report-rows.js';
import { amountLine, reportHeader, reportText } from './report-file.js';

/** A document as its settlements, read or left out. */
function readAll(bytes: Buffer) {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(0x0a, start);
    const end = found < 0 ? bytes.length : found;
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  const encoding = encodingOf(lines);
  const decoded = lines.map((line, at) => ({ number: at + 1, raw: decodeLine(line, encoding) }));
  const { settlements } = settlementsIn(decoded);
  return settlements.map((settlement) => ({ settlement, rows: readSettlement(settlement, 'report.txt') }));
}

function isRead(rows: ReturnType<typeof readSettlement>): rows is SettlementRows {
  return 'batches' in rows;
}

const text = reportText(
  reportHeader('1', '1,178.00'),
  amountLine('1', '1,234'),
  amountLine('1', '(56.00)', { 'posted-date': '03/04/26', sku: 'Größe' }),
  reportHeader('2', '1.138,00', { 'settlement-start-date': '02.03.2026 07:11:20 UTC', currency: 'EUR' }),
  amountLine('2', '1.234'),
  amountLine('2', '-95,00'),
  amountLine('2', '-1,00', { 'quantity-purchased': '2' }),
);

const mutation = fc.record({
  at: fc.nat(2000),
  removed: fc.nat(30),
  added: fc.uint8Array({ maxLength: 4 }),
});

test('a damaged document never fails: each line is a row, with an amount or the text of one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(mutation, { maxLength: 6 }), async (mutations) => {
      let bytes = Buffer.from(text);
      for (const { at, removed, added } of mutations) {
        const start = at % bytes.length;
        bytes = Buffer.concat([bytes.subarray(0, start), added, bytes.subarray(start + removed)]);
      }
      for (const { settlement, rows } of readAll(bytes)) {
        if (!isRead(rows)) {
          expect(rows.found).not.toBe('');
          continue;
        }
        const report = rows.batches.at(-1)?.rows;
        expect(report?.numRows).toBe(1);
        expect(report?.getChild('lines')?.get(0)).toBe(BigInt(settlement.lines.length));
        const [lines] = rows.batches;
        if (rows.batches.length < 2 || lines === undefined) continue;
        expect(lines.rows.numRows).toBe(settlement.lines.length);
        const column = (name: string) => Array.from(lines.rows.getChild(name) ?? []) as unknown[];
        expect(new Set(column('event_id')).size).toBe(settlement.lines.length);
        expect(column('raw')).toEqual(settlement.lines.map(({ raw }) => raw));
        const [amounts, texts] = [column('amount'), column('amount_text')];
        for (const [at, amount] of amounts.entries()) expect(amount === null).toBe(texts[at] !== null);
        expect(amounts.filter((amount) => amount === null)).toHaveLength(rows.unreadable.length + rows.inexact);
        for (const batch of rows.batches) expect((await encodeFile(batch, new Map())).rows).toBe(batch.rows.numRows);
      }
    }),
    { numRuns: 300 },
  );
});

test('the document as it is', () => {
  const all = readAll(Buffer.from(text)).map(({ rows }) =>
    isRead(rows) ? [rows.id, rows.month, rows.unreadable] : rows,
  );
  expect(all).toEqual([
    ['1', '2026-03', []],
    ['2', '2026-03', []],
  ]);
});
