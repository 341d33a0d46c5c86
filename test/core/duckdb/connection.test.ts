import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { fileLiteral } from '../../../src/core/duckdb/literals.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import type { Database } from '../../../src/core/duckdb/connection.js';
import { failureOf } from '../../failure-of.js';

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => {
  database.close();
});

/** The only cell of a query's only row. */
async function cell(expression: string): Promise<unknown> {
  const [row] = await database.rows(`SELECT ${expression} AS x`);
  return row?.['x'];
}

test.each([
  ['25.1::DECIMAL(18,6)', '25.100000'],
  ['-0.000001::DECIMAL(18,6)', '-0.000001'],
  ['(SELECT sum(x) FROM (VALUES (999999999999.999999), (0.000001)) t(x))', '1000000000000.000000'],
  ['0.5::DECIMAL(3,3)', '0.500'],
  ['9007199254740993::BIGINT', 9007199254740993n],
  ['170141183460469231731687303715884105727::HUGEINT', 2n ** 127n - 1n],
  ['7::INTEGER', 7],
  ['0.1::FLOAT', 0.1],
  ['0.1::DOUBLE', 0.1],
  ['true', true],
  ['NULL', null],
  [`''`, ''],
  [`DATE '2025-03-04'`, '2025-03-04'],
  [`TIMESTAMPTZ '2025-03-04 05:06:07+02'`, '2025-03-04T03:06:07Z'],
  [`TIMESTAMPTZ '2025-03-04 05:06:07.000001Z'`, '2025-03-04T05:06:07.000001Z'],
  [`TIMESTAMP '2025-03-04 05:06:07.5'`, '2025-03-04T05:06:07.500'],
  [`TIMESTAMP_NS '2025-03-04 05:06:07.000000001'`, '2025-03-04T05:06:07.000000001'],
  [`TIMESTAMP_MS '2025-03-04 05:06:07.25'`, '2025-03-04T05:06:07.250'],
  [`TIMESTAMP_S '2025-03-04 05:06:07'`, '2025-03-04T05:06:07'],
  [`'infinity'::TIMESTAMPTZ`, 'infinity'],
  [`TIME '05:06:07.5'`, '05:06:07.5'],
  [`INTERVAL '14 months 3 days'`, '1 year 2 months 3 days'],
  [`'a\\xFFb'::BLOB`, 'a\\xFFb'],
  [`UUID '00000000-0000-0000-0000-00000000000a'`, '00000000-0000-0000-0000-00000000000a'],
  [`'b'::ENUM('a', 'b')`, 'b'],
  [`[1.50, NULL]`, '[1.50,null]'],
  [`{'a': 'say "x"', 'b': TIMESTAMPTZ '2025-01-01 00:00:00Z'}`, '{"a":"say \\"x\\"","b":"2025-01-01T00:00:00Z"}'],
  [`map {1: 9007199254740993, 2: NULL}`, '{"1":9007199254740993,"2":null}'],
  [`map {'k': 'nan'::DOUBLE}`, '{"k":null}'],
  [`[[1, 2], [3]]`, '[[1,2],[3]]'],
  [`'{"a" : 1.10}'::JSON`, '{"a" : 1.10}'],
  [`union_value(k := 'v')`, '"v"'],
  // A byte order mark belongs to its text, however short or deep that is.
  [`'\ufeff'`, '\ufeff'],
  [`'\ufeffSKU-1'`, '\ufeffSKU-1'],
  [`'\ufeff\ufeff' || repeat('x', 20)`, `\ufeff\ufeff${'x'.repeat(20)}`],
  [`['\ufeffa', 'b\ufeff']`, '["\ufeffa","b\ufeff"]'],
  [`{'k': ['\ufeff' || repeat('x', 20)]}`, `{"k":["\ufeff${'x'.repeat(20)}"]}`],
  [`map {'\ufeffk': '\ufeffv'}`, '{"\ufeffk":"\ufeffv"}'],
  [`union_value(k := '\ufeffv')`, '"\ufeffv"'],
  [`'\ufeffv'::VARIANT`, '"\ufeffv"'],
  [`'\ufeffb'::ENUM('a', '\ufeffb')`, '\ufeffb'],
  [`array_value('\ufeffa', 'b')`, '["\ufeffa","b"]'],
])('SELECT %s gives %s', async (expression, value) => {
  expect(await cell(expression)).toEqual(value);
});

describe('without a network', () => {
  test.each([
    [`current_setting('TimeZone')`, 'UTC'],
    [`date_trunc('month', TIMESTAMPTZ '2025-03-31 23:00:00-05')`, '2025-04-01T00:00:00Z'],
    [`strftime(TIMESTAMPTZ '2025-03-31 23:00:00-05', '%Y-%m-%d')`, '2025-04-01'],
    [`TIMESTAMPTZ '2025-01-31 00:00:00Z' + INTERVAL 1 MONTH`, '2025-02-28T00:00:00Z'],
    [`timezone('America/New_York', TIMESTAMPTZ '2025-07-01 00:00:00Z')`, '2025-06-30T20:00:00'],
    [`json_extract('{"a":{"b":1.5}}', '$.a')`, '{"b":1.5}'],
    [`'{"a":"25.10"}' ->> 'a'`, '25.10'],
  ])('SELECT %s works', async (expression, value) => {
    expect(await cell(expression)).toBe(value);
  });

  test('no extension is fetched on its own', async () => {
    expect(await cell(`current_setting('autoinstall_known_extensions')`)).toBe(false);
  });
});

test('columns come with their kinds and types', async () => {
  const { columns, returns } = await database.query(
    `SELECT 1::DECIMAL(18,6) AS d, now() AS t, '1'::JSON AS j, [1] AS l, 'x' AS v, true AS b`,
  );
  expect(returns).toBe('rows');
  expect(columns.map(({ name, kind, type }) => `${name} ${kind} ${type}`)).toEqual([
    'd number DECIMAL(18,6)',
    't time TIMESTAMP WITH TIME ZONE',
    'j json JSON',
    'l json INTEGER[]',
    'v text VARCHAR',
    'b boolean BOOLEAN',
  ]);
});

test('rows are streamed in chunks, in order', async () => {
  const { chunks } = await database.query('FROM range(10000)');
  let next = 0n;
  let count = 0;
  for await (const rows of chunks) {
    count++;
    expect(rows.length).toBeLessThanOrEqual(2048);
    for (const [value] of rows) expect(value).toBe(next++);
  }
  expect(next).toBe(10_000n);
  expect(count).toBeGreaterThan(4);
});

test('who stops reading early can go on with another query', async () => {
  const { chunks } = await database.query('SELECT a.range FROM range(1000000) a, range(1000000) b');
  for await (const rows of chunks) if (rows.length > 0) break;
  expect(await cell('1')).toBe(1);
});

test('queries that are asked for at once run one after the other, and each gets all of its rows', async () => {
  const asked = Array.from({ length: 12 }, async (_, number) => {
    if (number % 4 === 1) return failureOf(database.rows('SELEC'));
    if (number % 4 === 2) return database.execute(`CREATE OR REPLACE TEMP TABLE at_once AS SELECT ${number} AS number`);
    if (number % 4 === 3) return database.rows('FROM at_once');
    return database.rows(`SELECT ${number} AS number, i FROM range(5000) AS rows(i)`);
  });
  for (const [number, answer] of (await Promise.all(asked)).entries()) {
    if (number % 4 === 1) expect(answer).toMatchObject({ code: 'SQL' });
    if (number % 4 === 2) expect(answer).toBeUndefined();
    if (number % 4 === 3) expect(answer).toEqual([{ number: number - 1 }]);
    if (number % 4 !== 0) continue;
    expect(answer).toHaveLength(5000);
    expect(answer).toContainEqual({ number, i: 4999n });
  }
});

test('of several statements the last one’s result is given, and all are run', async () => {
  await database.query('CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1), (2)');
  const { chunks, returns } = await database.query('INSERT INTO t VALUES (3); DELETE FROM t WHERE i < 3');
  expect(returns).toBe('count');
  expect((await chunks[Symbol.asyncIterator]().next()).value).toEqual([[2n]]);
  expect(await database.rows('FROM t')).toEqual([{ i: 3 }]);
  expect((await database.query('DROP TABLE t')).returns).toBe('nothing');
  expect((await database.query('EXPLAIN SELECT 1')).plan).toBe(true);
});

test('parameters are values, not text', async () => {
  const parameters = [`'; DROP`, 9007199254740993n, null];
  expect(await database.rows('SELECT $1 AS a, $2 AS b, $3 AS c', { parameters })).toEqual([
    { a: `'; DROP`, b: 9007199254740993n, c: null },
  ]);
});

test('parameters have numbers or names, and a name that the statement lacks is refused', async () => {
  expect(await database.rows('SELECT $from AS a, $to AS b', { parameters: { to: 'x', from: null } })).toEqual([
    { a: null, b: 'x' },
  ]);
  await expect(database.rows('SELECT $from', { parameters: { from: 1, to: 2 } })).rejects.toMatchObject({
    code: 'SQL',
  });
});

describe('errors', () => {
  test('are DuckDB’s own, with the line and its caret', async () => {
    const error = await failureOf(database.query('SELECT one\nFROM range(1)'));
    expect(error.code).toBe('SQL');
    expect(error.message).toMatch(
      /^Binder Error: Referenced column "one" not found.*\n\nLINE 1: SELECT one\n {15}\^$/s,
    );
    expect((await failureOf(database.query('SELEC'))).message).toMatch(
      /^Parser Error: syntax error at or near "SELEC"/,
    );
  });

  test('may come with the rows', async () => {
    const sql = `SELECT CASE WHEN range = 50000 THEN error('at row 50000') ELSE range END FROM range(100000)`;
    expect((await failureOf(database.execute(sql))).message).toContain('at row 50000');
    expect(await cell('1')).toBe(1);
  });

  test('say so when there is no statement', async () => {
    expect((await failureOf(database.query(' -- nothing'))).message).toBe('expected a statement, got none');
  });
});

describe('a signal', () => {
  const endless = 'SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b';

  test('that aborts while a query runs stops it', async () => {
    const controller = new AbortController();
    const running = failureOf(database.query(endless, { signal: controller.signal }));
    controller.abort();
    expect((await running).code).toBe('STOPPED');
    expect(await cell('1')).toBe(1);
  });

  test('that aborts between rows stops them, with its own reason where that is one of ours', async () => {
    const controller = new AbortController();
    const { chunks } = await database.query('FROM range(1000000)', { signal: controller.signal });
    const reason = new LedgerlakeError('STOPPED', 'The user stopped the run.');
    const reading = (async () => {
      for await (const rows of chunks) if (rows.length > 0) controller.abort(reason);
    })();
    expect(await failureOf(reading)).toBe(reason);
  });

  test('that aborts while rows are fetched never lets what came pass for all of them', async () => {
    const controllers = Array.from({ length: 30 }, () => new AbortController());
    for (const [at, controller] of controllers.entries()) {
      const { chunks } = await database.query('SELECT i, md5(i::VARCHAR) FROM range(2000000) AS t(i)', {
        signal: controller.signal,
      });
      let count = 0;
      const read = (async () => {
        for await (const rows of chunks) count += rows.length;
      })();
      setTimeout(() => {
        controller.abort();
      }, at * 3);
      const ended = await read.then(
        () => 'ended',
        (error: unknown) => (error instanceof LedgerlakeError ? error.code : 'other'),
      );
      expect([ended, ended === 'ended' && count < 2_000_000]).toEqual([count === 2_000_000 ? ended : 'STOPPED', false]);
    }
  });

  test('that has aborted before lets nothing run', async () => {
    const stopped = failureOf(database.execute('CREATE TABLE never (i INTEGER)', { signal: AbortSignal.abort() }));
    expect((await stopped).code).toBe('STOPPED');
    expect((await failureOf(database.query('FROM never'))).message).toContain('does not exist');
  });
});

describe('confined to folders', () => {
  let folder: string;
  let outside: string;
  let confined: Database;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ledgerlake-in-'));
    outside = await mkdtemp(join(tmpdir(), 'ledgerlake-out-'));
    await writeFile(join(outside, 'canary.csv'), 'secret\n1\n');
    await symlink(join(outside, 'canary.csv'), join(folder, 'link.csv'));
    confined = await openDatabase({ folders: [folder], settings: { threads: 1, memory_limit: '100MB' } });
  });
  afterAll(async () => {
    confined.close();
    await rm(folder, { recursive: true });
    await rm(outside, { recursive: true });
  });

  test('a statement neither reads nor writes anything outside, nor frees itself', async () => {
    for (const sql of [
      `FROM read_csv('${outside}/canary.csv')`,
      `FROM read_csv('${folder}/link.csv')`,
      `FROM read_text('${folder}/../${basename(outside)}/canary.csv')`,
      `FROM glob('${outside}/*')`,
      `COPY (SELECT 1) TO '${outside}/new.csv'`,
      `ATTACH '${outside}/new.db'`,
      "FROM read_csv('https://example.com/x.csv')",
      'INSTALL httpfs',
      'LOAD httpfs',
      'SET enable_external_access = true',
      'SET lock_configuration = false',
      `SET allowed_directories = ['/']`,
      'SET threads = 2',
    ]) {
      expect([sql, (await failureOf(confined.execute(sql))).code]).toEqual([sql, 'SQL']);
    }
    expect(await readdir(outside)).toEqual(['canary.csv']);
  });

  test('it works inside, in UTC, also beside another one', async () => {
    await confined.execute(`COPY (SELECT 7 AS x) TO '${folder}/x.parquet'`);
    const beside = await confined.openConnection();
    expect(await beside.rows(`SELECT x, current_setting('TimeZone') AS zone FROM '${folder}/x.parquet'`)).toEqual([
      { x: 7, zone: 'UTC' },
    ]);
    beside.close();
  });

  test('it reads files below a folder whose name is a pattern, and nothing else that the pattern matches', async () => {
    const odd = join(folder, 'lake[2025]*?');
    const alike = join(folder, 'lake2xy');
    await Promise.all([mkdir(odd), mkdir(alike)]);
    for (const [of, value] of [
      [odd, 1],
      [alike, 2],
    ] as const) {
      await confined.execute(`COPY (SELECT ${value} AS x) TO '${of}/x.parquet'`);
    }
    const inside = await openDatabase({ folders: [odd] });
    expect(await inside.rows(`FROM read_parquet(${fileLiteral(join(odd, 'x.parquet'))})`)).toEqual([{ x: 1 }]);
    expect((await failureOf(inside.execute(`FROM read_parquet('${alike}/x.parquet')`))).code).toBe('SQL');
    expect((await failureOf(inside.execute(`FROM read_parquet('${odd}/../lake2xy/x.parquet')`))).code).toBe('SQL');
    inside.close();
  });

  test('two statements are none', async () => {
    const error = await failureOf(confined.execute('CREATE TABLE t (i INTEGER); SELECT 1'));
    expect(error.message).toBe('expected one statement, got 2: nothing was run');
    expect((await failureOf(confined.execute('FROM t'))).message).toMatch(/does not exist/);
  });
});
