import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { historyLines, historyPath, openHistory } from '../../../src/cli/sql-shell/history-file.js';
import { temporaryFolder } from '../../app/lake-run.js';

function unheard(line: string): never {
  throw new Error(`expected nothing to be told, got ${line}`);
}

test('stands in the folder for state', () => {
  expect(historyPath({ XDG_STATE_HOME: '/state' })).toBe('/state/ledgerlake/sql_history');
  for (const XDG_STATE_HOME of [undefined, '', 'relative']) {
    expect(historyPath({ XDG_STATE_HOME })).toBe(join(homedir(), '.local/state/ledgerlake/sql_history'));
  }
});

test('keeps whole statements for the next shell, newest first, for nobody else', async () => {
  const path = join(await temporaryFolder(), 'state', 'sql_history');
  const history = await openHistory(path, unheard);
  expect(history.newestFirst).toEqual([]);
  await history.add('SELECT 1;', true);
  await history.add('SELECT', false);
  await history.add('  2;', true);
  await history.add('SELECT dropped', false);
  history.forget();
  await history.add(' SELECT 3;', true);
  await history.add('CREATE SECRET s (TYPE s3,', false);
  await history.add("KEY_ID 'hush');", true);
  await history.add('', true);
  await history.add('x'.repeat(20_000), true);
  expect(await readFile(path, 'utf8')).toBe('SELECT 1;\nSELECT 2;\n');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await openHistory(path, unheard)).newestFirst).toEqual(['SELECT 2;', 'SELECT 1;']);
});

test.each([[['SELECT 1 -- one', ';']], [["SELECT 'a", "b';"]], [['SELECT "a', 'b";']], [['SELECT $$a', 'b$$;']]])(
  'keeps the lines of %j, which would mean something else on one line',
  async (lines) => {
    const path = join(await temporaryFolder(), 'sql_history');
    const history = await openHistory(path, unheard);
    for (const [at, line] of lines.entries()) await history.add(line, at === lines.length - 1);
    expect(await readFile(path, 'utf8')).toBe(`${lines.join('\n')}\n`);
  },
);

test('is cut to its last lines, and an old file is closed to others', async () => {
  const path = join(await temporaryFolder(), 'sql_history');
  const lines = Array.from({ length: historyLines + 5 }, (_, at) => `SELECT ${at};`);
  await writeFile(path, `${lines.join('\n')}\n`);
  await chmod(path, 0o644);
  const { newestFirst } = await openHistory(path, unheard);
  expect(newestFirst).toEqual(lines.slice(5).toReversed());
  expect(await readFile(path, 'utf8')).toBe(`${lines.slice(5).join('\n')}\n`);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('that can’t be written is told once, and nothing else happens', async () => {
  const path = join(await temporaryFolder(), 'sql_history');
  await mkdir(path);
  const told: string[] = [];
  const history = await openHistory(path, (line) => told.push(line));
  await history.add('SELECT 1;', true);
  expect(history.newestFirst).toEqual([]);
  expect(told).toEqual([expect.stringMatching(/^The history is not saved \(EISDIR.*\)\.$/)]);
});

test.each([
  "SET s3_secret_access_key='wJalrXUtnFEMI';",
  "SET s3_session_token = 'FwoGZXIvYXdzE';",
  "SET s3_access_key_id='AKIAIOSFODNN7';",
  "CREATE OR REPLACE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b');",
  "ATTACH 'dbname=shop user=me password=hunter2 host=db' AS pg (TYPE postgres);",
  "ATTACH 'host=db passwd=hunter2' AS my (TYPE mysql);",
  "ATTACH 'postgres://me:hunter2@db/shop' AS pg (TYPE postgres);",
  "ATTACH 'md:?motherduck_token=eyJhbGciOi';",
  "PRAGMA add_parquet_key('key128', '0123456789112345');",
  "ATTACH 'shop.duckdb' AS shop (ENCRYPTION_KEY 'hunter2hunter2');",
  "SET azure_storage_connection_string = 'AccountKey=aGk=';",
])('has no line of a statement that may have a secret: %s', async (statement) => {
  const path = join(await temporaryFolder(), 'history');
  const history = await openHistory(path, unheard);
  await history.add('SELECT 1;', true);
  // On two lines, too.
  const at = statement.indexOf(' ');
  await history.add(statement, true);
  await history.add(statement.slice(0, at), false);
  await history.add(statement.slice(at), true);
  expect(await readFile(path, 'utf8')).toBe('SELECT 1;\n');
});
