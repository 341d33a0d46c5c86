import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { fileFault } from '../../../src/app/query/file-fault.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { openLake } from '../../../src/index.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { builtCommand } from '../built-command.js';
import { temporaryFolder } from '../lake-run.js';
import { loadedLake, type LoadedLake } from '../verify/loaded-lake.js';

let lake: LoadedLake;
beforeEach(async () => {
  const loaded = await loadedLake(undefined, [{ pipelines: ['financial-events'], from: '2025-03-01' }]);
  onTestFinished(() => {
    loaded.remove();
  });
  lake = loaded;
});

/** The largest file of a table. */
async function fileOf(table: string): Promise<string> {
  const opened = await Lake.open(openStore(lake.root), tables, lake.clock);
  const files = opened.files().filter((file) => file.table === table);
  const largest = files.toSorted((one, other) => other.size - one.size)[0];
  if (largest === undefined) throw new Error(`expected files of ${table}`);
  return opened.store.address(largest.lakePath);
}

const changed = (file: string): void => {
  const bytes = readFileSync(file);
  bytes.fill(0x5a, 8, bytes.length - 2000);
  writeFileSync(file, bytes);
};
const cut = (file: string): void => {
  truncateSync(file, 200);
};

const all = 'SELECT count(DISTINCT COLUMNS(*)) FROM';

async function queried(table: string, statement = `${all} ${table}`) {
  const folder = await temporaryFolder();
  return builtCommand(['sql', '--format', 'csv', '--lake', lake.root, statement], { folder });
}

test.each([
  ['changed', changed, 'its bytes have changed'],
  ['cut off', cut, 'it has 200 bytes instead of \\d+'],
  ['gone', rmSync, 'it is missing'],
])(
  'a file of derived rows that is %s is named with the command that mends it, which does',
  async (_, damage, fault) => {
    const before = await queried('entries');
    expect(before.code).toBe(0);
    const file = await fileOf('entries');
    damage(file);
    const { code, out, err } = await queried('entries');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    const command = `ledgerlake rebuild --lake ${lake.root}`;
    expect(err).toMatch(
      new RegExp(
        `^ledgerlake: SQL: expected the file ${file} \\(window/\\S+\\), ${fault}: run \`${command}\`; ` +
          `\`ledgerlake verify --lake ${lake.root}\` names what else is wrong\\n$`,
      ),
    );
    expect((await builtCommand(command.split(' ').slice(1), { folder: lake.root })).code).toBe(0);
    expect(await queried('entries')).toEqual({ ...before, commandLine: expect.any(String) as string });
  },
);

test('a file of events that is changed is read again over its dates', async () => {
  changed(await fileOf('events'));
  const { code, err } = await queried('events');
  expect(code).toBe(1);
  expect(err).toMatch(
    /, its bytes have changed: run `ledgerlake backfill financial-events --lake \S+ --account shop --endpoint \S+ --from 2025-\S+ --to 2025-\S+ --refresh`; /,
  );
  expect(err.trimEnd().split('\n')).toHaveLength(1);
});

test('a file that the statement itself names is not the lake’s', async () => {
  const { err } = await queried('entries', "FROM 'other.parquet'");
  expect(err).toMatch(/SQL: IO Error: .*other\.parquet/);
  const broken = await queried('entries', `FROM read_parquet('${lake.root}/_last-run/shop.json')`);
  expect(broken.err).toMatch(/SQL: Invalid Input Error: .*_last-run\/shop\.json/);
});

test('a fault that DuckDB finds in a whole file is named without the bytes that it quotes', async () => {
  const file = await fileOf('entries');
  const quoted = '\\xC3\\x28'.repeat(100);
  const error = new LedgerlakeError('SQL', `Invalid Input Error: File "${file}": invalid string "${quoted}"`);
  const opened = await Lake.open(openStore(lake.root), tables, lake.clock);
  const { message } = (await fileFault(error, opened, { lake: lake.root })) as Error;
  expect(message).toMatch(
    /^expected the file \S+entries\S+ \(window\/\S+\), it is damaged \(Invalid Input Error: File "it"/,
  );
  expect(message.length).toBeLessThan(700);
});

test('a file that DuckDB did not get is not called damaged, nor is it loaded again', async () => {
  const file = await fileOf('entries');
  const opened = await Lake.open(openStore(lake.root), tables, lake.clock);
  const error = new LedgerlakeError('SQL', `HTTP Error: Unable to connect to URL "${file}": 403 (Forbidden).`);
  const { code, message } = (await fileFault(error, opened, { lake: lake.root })) as LedgerlakeError;
  expect(code).toBe('SQL');
  expect(message).toBe(`expected DuckDB to read ${file}, whose bytes are right, got ${error.message}`);
  cut(file);
  expect(((await fileFault(error, opened, { lake: lake.root })) as Error).message).toContain('it has 200 bytes');
});

test('a report names the damaged file and the command that mends it, too', async () => {
  const file = await fileOf('entries');
  cut(file);
  const folder = await temporaryFolder();
  const { code, err } = await builtCommand(['report', '--lake', lake.root], { folder });
  expect(code).toBe(1);
  expect(err).toContain(`expected the file ${file} (window/`);
  expect(err).toContain(`it has 200 bytes instead of `);
  expect(err).toContain(`run \`ledgerlake rebuild --lake ${lake.root}\``);
});

test.each([
  ['cut off', cut, 'it has 200 bytes instead of \\d+'],
  ['gone', rmSync, 'it is missing'],
])('a file of one table that is %s fails the statements that read this table only', async (_, damage, fault) => {
  const orders = ['111-0000000-0000001'];
  const both = await loadedLake(undefined, [{}, { pipelines: ['order-events'], orders }]);
  onTestFinished(() => {
    both.remove();
  });
  lake = both;
  const file = await fileOf('order_entries');
  const whole = readFileSync(file);
  damage(file);
  const line = new RegExp(`^(?:ledgerlake: SQL: )?expected the file ${file} \\(order/\\S+\\), ${fault}: .*\n?$`);

  // Of a column, and of a name within a text.
  const others = "SELECT count(*) > 0 AS order_entries FROM entries WHERE name <> 'order_entries'";
  expect(await queried('', others)).toMatchObject({ code: 0, out: 'order_entries\ntrue\n', err: '' });
  expect(await queried('', 'FROM order_entries')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(line) as string,
  });
  const folder = await temporaryFolder();
  expect(await builtCommand(['report', '--lake', lake.root], { folder })).toMatchObject({ code: 0, err: '' });

  const library = await openLake(lake.root);
  onTestFinished(() => library.close());
  expect(await library.sql('SELECT count(*) > 0 AS n FROM events')).toEqual([{ n: true }]);
  for (const reading of [
    'FROM order_entries',
    'SELECT count(*) FROM order_entries',
    "SELECT sku FROM order_entries WHERE account = 'nobody'",
    'CREATE OR REPLACE VIEW mine AS FROM order_entries; SELECT count(*) FROM mine',
    "FROM query_table('order_' || 'entries')",
    'SELECT 1 WHERE EXISTS (FROM order_entries)',
  ]) {
    await expect(library.sql(reading), reading).rejects.toMatchObject({
      code: 'SQL',
      message: expect.stringMatching(line) as string,
    });
  }
  expect(await library.sql('SELECT count(*) > 0 AS n FROM groups')).toEqual([{ n: true }]);
  writeFileSync(file, whole);
  expect(await library.sql('SELECT count(*) > 0 AS n FROM order_entries')).toEqual([{ n: true }]);
});
