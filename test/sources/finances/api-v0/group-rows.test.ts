import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../../src/core/duckdb/connection.js';
import { scan } from '../../../../src/core/json/scan.js';
import { Tape } from '../../../../src/core/json/tape.js';
import { encodeFile } from '../../../../src/core/parquet/encode-file.js';
import { rowsIn } from '../../../../src/lake/files/local-parquet.js';
import { groupCollector } from '../../../../src/sources/finances/api-v0/collectors.js';
import { scanPage } from '../../../../src/sources/finances/api-v0/finances-page.js';
import { groupBatch, readGroup, type GroupRow } from '../../../../src/sources/finances/api-v0/group-rows.js';
import { newWarnings } from '../../../../src/sources/finances/model/slice-rows.js';
import { groups } from '../../../../src/sources/finances/api-v0/event-tables.js';
import { temporaryFolder } from '../../../app/lake-run.js';

function groupOf(json: string): GroupRow {
  const tape = new Tape();
  scan(Buffer.from(json), tape);
  tape.shadowDuplicates(0);
  return readGroup(tape, 0, newWarnings());
}

const march = { start: Date.UTC(2025, 2), end: Date.UTC(2025, 3) };

test('groups in any order have their own raw and columns', { timeout: 20_000 }, async () => {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  const folder = await temporaryFolder();
  let files = 0;
  const group = fc.record({
    day: fc.option(fc.integer({ min: 1, max: 28 }), { nil: undefined }),
    total: fc.integer({ min: -99_999, max: 99_999 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(group, { minLength: 1, maxLength: 12 }), fc.nat(), async (drawn, seed) => {
      const rows = drawn.map(({ day, total }, at) => {
        const number = (at * 7 + seed) % 100_003;
        const start = day === undefined ? '' : `,"FinancialEventGroupStart":"2025-03-${String(day).padStart(2, '0')}"`;
        const money = `{"CurrencyCode":"USD","CurrencyAmount":${total / 100}}`;
        return groupOf(`{"FinancialEventGroupId":"G${number}","OriginalTotal":${money}${start}}`);
      });
      const { bytes } = await encodeFile({ table: groups, rows: groupBatch(rows, march) }, new Map());
      // Another file each time, as in a lake: DuckDB keeps parts of a file that it has read by its path and time.
      const path = join(folder, `groups-${files++}.parquet`);
      await writeFile(path, bytes);
      const found = await database.rows(
        "SELECT group_id, raw->>'$.FinancialEventGroupId' AS id, original_total::VARCHAR AS total, " +
          `(raw->>'$.OriginalTotal.CurrencyAmount')::DECIMAL(18,6)::VARCHAR AS sent, started_at, raw FROM ${rowsIn([path])}`,
      );
      expect(found.map(({ group_id, total }) => [group_id, total])).toEqual(found.map(({ id, sent }) => [id, sent]));
      expect(found.map(({ raw }) => raw).toSorted()).toEqual(
        rows.map(({ raw }) => raw.page.toString('utf8', raw.start, raw.end)).toSorted(),
      );
    }),
    { numRuns: 60 },
  );
});

test('behind a stored page without groups, equal groups without an id stay as many as were received', () => {
  const pageOf = (groups: string) => scanPage(Buffer.from(`{"payload":{"FinancialEventGroupList":[${groups}]}}`));
  const collector = groupCollector(march, true);
  for (const groups of ['', '{"ProcessingStatus":"Open"}', '{"ProcessingStatus":"Open"}'])
    collector.add(pageOf(groups));
  expect([...collector.finish()].map(({ rows }) => rows.numRows)).toEqual([2]);
});
