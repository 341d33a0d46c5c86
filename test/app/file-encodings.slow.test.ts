import { expect, test } from 'vitest';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { fileLiteral } from '../../src/core/duckdb/literals.js';
import { tables } from '../../src/sources/finances/lake-tables.js';
import { temporaryFolder } from './lake-run.js';
import { compacted, loaded, sellerServer, steppingClock } from './maintenance/kept-lake.js';
import { open } from './maintenance/small-lake.js';

/** What readers of Parquet's first version have. */
const wide = ['PLAIN', 'PLAIN_DICTIONARY', 'RLE', 'RLE_DICTIONARY'];

/** Ids, which are much smaller by their lengths in loaded files. */
const ids = new Set(tables.flatMap(({ columns }) => columns.filter((one) => one.encoding === 'delta-length')));
const mainTables = new Set(tables.filter(({ columns }) => columns.some((one) => ids.has(one))).map(({ name }) => name));
const idNames = new Set(Array.from(ids, ({ name }) => name));

test('the built-in tables ask for encodings that every reader has, but for ids of events and their like', () => {
  for (const { name, columns } of tables) {
    for (const column of columns.filter((one) => !ids.has(one)))
      expect(['dictionary', 'plain'], `${name}.${column.name}`).toContain(column.encoding);
  }
  for (const { name } of ids) expect(name).toMatch(/_id$|^content_hash$/);
  for (const name of ['entries', 'groups', 'transaction_entries', 'payouts', 'settlement_summaries'])
    expect(mainTables).not.toContain(name);
});

test('loaded files but for ids, and merged ones, have encodings that every reader has, and no dictionary without values', async () => {
  const clock = steppingClock();
  const lake = await temporaryFolder();
  const server = await sellerServer(clock);
  await loaded(lake, server.endpoint, clock, { pipelines: [] });
  await loaded(lake, server.endpoint, clock, { pipelines: ['transactions', 'settlement-summaries', 'payouts'] });
  await server.close();
  const database = await openDatabase();
  const addressesNow = async () => {
    const opened = await open(lake, clock);
    return opened.files().map((file) => opened.store.address(file.lakePath));
  };
  const check = async (addresses: readonly string[], isMerged: boolean) => {
    const chunks = await database.rows(
      `SELECT file_name, path_in_schema AS name, encodings, dictionary_page_offset IS NOT NULL AS has, stats_null_count = num_values AS empty ` +
        `FROM parquet_metadata([${addresses.map(fileLiteral).join(', ')}])`,
    );
    for (const { file_name, name, encodings, has, empty } of chunks) {
      const chunk = `${String(file_name)} ${String(name)}`;
      expect(has === true && empty === true, chunk).toBe(false);
      if (!isMerged && idNames.has(String(name))) continue;
      for (const encoding of String(encodings).split(', ')) expect(wide, chunk).toContain(encoding);
    }
  };
  const before = await addressesNow();
  await check(before, false);
  await compacted({ lake }, { clock });
  const merged = (await addressesNow()).filter((address) => !before.includes(address));
  for (const name of ['events', 'entries', 'transactions'])
    expect(
      merged.some((address) => address.includes(`/${name}/account=`)),
      name,
    ).toBe(true);
  await check(merged, true);
  database.close();
});
