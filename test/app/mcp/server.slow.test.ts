import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.js';
import { createLakeServer } from '../../../src/app/mcp/server.js';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { database, fileHashes, temporaryFolder } from '../lake-run.js';
import { clock, connect, connected, loadAccount, type TestClient } from './served-lake.js';

/** The lake of two accounts; the name of one begins with that of the other. */
let lake: string;
/** Of all accounts. */
let shared: TestClient;
beforeAll(async () => {
  lake = await mkdtemp(join(tmpdir(), 'ledgerlake-test-'));
  await loadAccount(lake, 'shop', { seed: 3 });
  await loadAccount(lake, 'shop-2', { seed: 7 });
  shared = await connect(lake);
});
afterAll(async () => {
  await shared.close();
  await rm(lake, { recursive: true, force: true });
});

const texts = (rows: readonly (readonly unknown[])[]): string[] => rows.map(([value]) => String(value));

test('tools take only what their schemas say, and resources are the glossary and what each view says', async () => {
  const { client, call } = shared;
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    ...['query', 'tables', 'views', 'status', 'verify', 'explain_difference'],
  ]);
  for (const { name, inputSchema, annotations } of tools) {
    expect(annotations).toMatchObject({ readOnlyHint: true, openWorldHint: false });
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    const { isError, text } = await call(name, { unknown: 1 });
    expect([isError, text]).toEqual([true, expect.stringMatching(/^USAGE: expected an argument of \w+ \([^\n]*$/)]);
  }
  await expect(client.callTool({ name: 'sql' })).rejects.toThrow(/expected a tool \(query, .*got sql/);

  const { resources } = await client.listResources();
  const read = async (uri: string) => (await client.readResource({ uri })).contents[0] as { text: string };
  expect((await read('ledgerlake://glossary')).text).toBe(await readFile('docs/concepts.md', 'utf8'));
  const files = await readdir('src/app/query/views');
  expect(resources.map(({ name }) => name).toSorted()).toEqual(
    ['glossary', ...files.map((file) => file.replace('.sql', ''))].toSorted(),
  );
  for (const file of files) {
    const lines = (await readFile(join('src/app/query/views', file), 'utf8')).split('\n');
    const comment = lines.slice(
      0,
      lines.findIndex((line) => !line.startsWith('--')),
    );
    const { text } = await read(`ledgerlake://views/${file.replace('.sql', '')}`);
    expect(text.split(/\s+/)).toEqual(comment.join(' ').replaceAll('--', '').trim().split(/\s+/));
  }
});

test('a query gives exact rows, says where some are missing, and has the notes of sql', async () => {
  const { call } = shared;
  const answer = async (sql: string, more = {}) =>
    JSON.parse((await call('query', { sql, ...more })).text) as Record<string, unknown>;
  expect(
    await answer(
      `SELECT 0.1::DECIMAL(18,6) AS amount, 7 AS small, 9007199254740993 AS big, NULL AS nothing, true AS yes, 'NaN'::DOUBLE AS nan,
       TIMESTAMPTZ '2026-01-01 00:00:00Z' AS instant, [0.10] AS list`,
    ),
  ).toEqual({
    columns: [
      ...[
        { name: 'amount', type: 'DECIMAL(18,6)' },
        { name: 'small', type: 'INTEGER' },
      ],
      ...[
        { name: 'big', type: 'BIGINT' },
        { name: 'nothing', type: 'INTEGER' },
        { name: 'yes', type: 'BOOLEAN' },
      ],
      ...[
        { name: 'nan', type: 'DOUBLE' },
        { name: 'instant', type: 'TIMESTAMP WITH TIME ZONE' },
      ],
      { name: 'list', type: 'DECIMAL(3,2)[]' },
    ],
    rows: [['0.100000', 7, '9007199254740993', null, true, 'NaN', '2026-01-01T00:00:00Z', '[0.10]']],
    cut: null,
  });
  const sums = "SELECT account, currency, sum(amount) AS net FROM entries WHERE role = 'net' GROUP BY ALL ORDER BY ALL";
  const independent = await (await database(lake, clock, sums)).rows(sums);
  expect((await answer(sums))['rows']).toEqual(independent.map((row) => Object.values(row)));

  const cut = (rows: number) => new RegExp(`^only the first ${rows} rows? of the result`);
  expect(await answer('FROM range(3)', { limit: 3 })).toMatchObject({ rows: [[0], [1], [2]], cut: null });
  expect(await answer('FROM range(4)', { limit: 3 })).toMatchObject({ cut: expect.stringMatching(cut(3)) as string });
  expect(await answer('FROM range(5000)')).toMatchObject({ cut: expect.stringMatching(cut(100)) as string });
  const large = "SELECT repeat('é', 30000) FROM range(9)";
  expect(await answer(large)).toMatchObject({ cut: expect.stringMatching(cut(3)) as string });
  expect(await answer("SELECT repeat('x', 300000)")).toMatchObject({
    rows: [],
    cut: expect.stringMatching(cut(0)) as string,
  });

  const [note] = (await answer('FROM order_events'))['notes'] as string[];
  expect(note).toContain(`ledgerlake backfill order-events --account shop`);
  expect(note).toContain(`--lake ${lake}`);
});

test('nothing but one query runs, and it reads nothing but tables of the lake', async () => {
  const { call } = shared;
  const output = join(lake, 'entries/account=shop/stolen.csv');
  const before = await fileHashes(lake);
  const refused = [
    ...['SELECT 1; SELECT 2', 'SELECT 1; COPY groups TO $$x.csv$$', '-- nothing', ';', 'SELEC', 'BEGIN', 'CHECKPOINT'],
    ...[`COPY groups TO '${output}'`, `EXPLAIN ANALYZE COPY groups TO '${output}'`, `EXPORT DATABASE '${lake}'`],
    ...['CREATE TABLE t (a INT)', 'CREATE MACRO entries() AS 1', 'DROP VIEW entries', 'DELETE FROM entries'],
    ...[
      'INSERT INTO entries SELECT * FROM entries',
      'WITH a AS (INSERT INTO t VALUES (1)) FROM a',
      'PREPARE p AS SELECT 1',
    ],
    ...[
      "ATTACH 'x.db'",
      'INSTALL httpfs',
      'LOAD httpfs',
      'SET threads = 1',
      'RESET lock_configuration',
      'PRAGMA version',
    ],
    ...["CALL query('SELECT 1')", `FROM query('COPY groups TO ''${output}''')`, 'SET VARIABLE a = 1', 'USE memory'],
    ...[
      "FROM read_csv('/etc/passwd')",
      "FROM read_text('/proc/self/environ')",
      "FROM '/etc/passwd'",
      "FROM glob('/*')",
    ],
    ...[
      "FROM read_parquet('http://127.0.0.1:9/a.parquet')",
      "FROM 's3://bucket/a.parquet'",
      "FROM read_text('package.json')",
    ],
    ...[`FROM read_text('${lake}/_last-run/shop.json')`, `FROM read_text('${lake}/entries/../_last-run/shop.json')`],
    ...[`FROM glob('${lake}/_catalog/*')`, "FROM sniff_csv('/etc/passwd')"],
  ];
  for (const sql of refused) {
    const { isError, text } = await call('query', { sql });
    expect([sql, isError]).toEqual([sql, true]);
    expect(text).toMatch(/^SQL: /);
    expect(text).not.toMatch(/root:|2026-03/);
  }
  expect(await fileHashes(lake)).toEqual(before);
  // What DuckDB suggests is passed on.
  expect((await call('query', { sql: 'FROM entriez' })).text).toContain('Did you mean "entries');
  for (const sql of [
    '(SELECT 1)',
    'DESCRIBE entries',
    'SHOW TABLES',
    'SUMMARIZE groups',
    'VALUES (1)',
    'TABLE groups',
    '-- a\nSELECT 1;',
  ])
    expect([sql, (await call('query', { sql })).isError]).toEqual([sql, false]);
});

test('a server of one account shows nothing of another, whatever is asked', async () => {
  const all = shared;
  const orders = (account: string) =>
    all.rows(
      `SELECT DISTINCT amazon_order_id FROM entries WHERE account = '${account}' AND amazon_order_id IS NOT NULL`,
    );
  const settlements = "SELECT DISTINCT group_id FROM groups WHERE account = 'shop-2'";
  const own = new Set(texts(await orders('shop')));
  const others = [...texts(await orders('shop-2')), ...texts(await all.rows(settlements))].filter((id) => !own.has(id));
  expect(others.length).toBeGreaterThan(30);
  expect(own.size).toBeGreaterThan(30);

  const { client, call, rows } = await connected(lake, { accounts: ['shop'] });
  const isClean = (text: string) => !text.includes('shop-2') && !others.some((id) => text.includes(id));
  // All else that a statement can name is over these.
  const tables = (await openLakeReader(lake, clock)).tables.map(({ name }) => name);
  const names = [...tables, 'ledger', 'payout_lines', 'reconciliation_events', 'settlement_ids', 'last_loaded_days'];
  const now = "'2026-03-15T00:00:00Z'";
  const macros = ['events', 'entries', 'transactions', 'transaction_entries'].map((name) => `${name}_as_known(${now})`);
  const statements = [
    ...[...names, ...macros, `outstanding_at(${now})`, 'loaded_spans()'].map((name) => `FROM ${name}`),
    ...['duckdb_views()', 'duckdb_functions()', 'information_schema.columns', 'duckdb_settings()'].map(
      (of) => `FROM ${of}`,
    ),
    ...["FROM query('FROM entries')", "FROM query_table('events')", 'SELECT DISTINCT account FROM entries'],
    `FROM read_parquet('${lake}/entries/account=shop/month=2026-02/*.parquet')`,
  ];
  for (const sql of statements) {
    const { isError, text } = await call('query', { sql, limit: 10_000 });
    expect([sql, isError, isClean(text)]).toEqual([sql, false, true]);
  }
  expect(await rows('SELECT DISTINCT account FROM events UNION SELECT DISTINCT account FROM groups')).toEqual([
    ['shop'],
  ]);
  for (const path of [
    'entries/account=shop-2/*/*',
    'entries/account=shop/../account=shop-2/*/*',
    'entries/*/*/*',
    '_catalog/*',
    '**',
  ]) {
    for (const reading of ['read_parquet', 'glob', 'read_blob']) {
      const { isError, text } = await call('query', { sql: `FROM ${reading}('${lake}/${path}')` });
      expect([path, isError, text]).toEqual([path, true, expect.stringContaining('Permission Error') as string]);
    }
  }

  const answers = [
    await call('status', { days: true }),
    await call('verify'),
    await call('tables'),
    await call('views'),
  ];
  for (const { isError, text } of answers) expect([isError, isClean(text)]).toEqual([false, true]);
  expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ accounts: [{ account: 'shop' }] });
  expect(JSON.parse(answers[1]?.text ?? '')).toMatchObject({ account: 'shop', verdict: 'whole' });
  for (const tool of ['status', 'verify']) {
    expect((await call(tool, { account: 'shop-2' })).text).toBe(
      'USAGE: expected account (shop), got "shop-2"; did you mean shop?',
    );
  }
  expect((await call('explain_difference', { order: others[0] })).text).toContain('nothing in it has');
  for (const { uri } of (await client.listResources()).resources)
    expect(isClean(JSON.stringify(await client.readResource({ uri })))).toBe(true);

  await expect(
    createLakeServer({ lake, accounts: ['nobody'] }, { clock, emit: () => undefined }),
  ).rejects.toMatchObject({
    code: 'USAGE',
  });
});

test('status, verify, tables and views say what their commands say, of all accounts or of one', async () => {
  const { call, rows } = shared;
  const status = JSON.parse((await call('status')).text) as { accounts: { account: string; pipelines: object[] }[] };
  expect(status.accounts.map(({ account }) => account)).toEqual(['shop', 'shop-2']);
  expect(status.accounts[0]?.pipelines[0]).not.toHaveProperty('days');
  const one = JSON.parse((await call('status', { account: 'shop-2', days: true })).text) as typeof status;
  expect(one.accounts.map(({ account }) => account)).toEqual(['shop-2']);
  expect(one.accounts[0]?.pipelines[0]).toHaveProperty('days');

  const { tables } = JSON.parse((await call('tables')).text) as {
    tables: { name: string; rows: number; columns: string[] }[];
  };
  for (const { name, rows: count, columns } of tables) {
    expect(await rows(`SELECT count(*) FROM ${name}`)).toEqual([[count]]);
    if (name === 'entries') expect(texts(await rows(`DESCRIBE ${name}`))).toEqual(columns);
  }
  const { views } = JSON.parse((await call('views')).text) as {
    views: { name: string; columns?: { name: string }[] }[];
  };
  expect(views.length).toBeGreaterThan(35);
  for (const view of ['pnl_by_month', 'settlement_differences']) {
    const columns = views.find(({ name }) => name === view)?.columns?.map(({ name }) => name);
    expect(texts(await rows(`DESCRIBE ${view}`))).toEqual(columns);
  }
  expect((await call('views', { view: 'reconcilation' })).text).toMatch(/did you mean reconciliation\?$/);
});

test('a difference is explained by the rows of the views', async () => {
  const { call, rows } = shared;
  interface Explained {
    readonly found: { readonly settlement_id: string | null }[];
    readonly differences: { readonly view: string; readonly about: string; readonly rows: unknown[][] }[];
  }
  const explained = async (args: object) =>
    JSON.parse((await call('explain_difference', { ...args })).text) as Explained;
  const ofView = ({ differences }: Explained, name: string) =>
    differences.find(({ view }) => view === name)?.rows ?? [];

  const all = await rows('SELECT reason, order_id, settlement_id, group_id, * FROM settlement_differences');
  const renamed = all.find(([reason, order]) => reason === 'renamed' && order !== null) ?? [];
  const [, order, settlement, group] = renamed;
  const withoutFirst = (found: typeof all) => found.map((row) => row.slice(4));
  const byOrder = await explained({ order });
  expect(byOrder.differences.map(({ view }) => view)).toEqual([
    ...['api_differences', 'settlement_differences', 'reconciliation_events'],
  ]);
  expect(ofView(byOrder, 'settlement_differences')).toEqual(withoutFirst(all.filter((row) => row[1] === order)));
  const bySettlement = await explained({ settlement });
  expect(bySettlement.found).toMatchObject([{ group_id: group, settlement_id: settlement }]);
  const ofSettlement = ofView(bySettlement, 'settlement_differences');
  expect(ofSettlement).toEqual(withoutFirst(all.filter((row) => row[2] === settlement)));
  expect(ofView(bySettlement, 'reconciliation')).toEqual(
    await rows(`FROM reconciliation WHERE account = '${String(ofSettlement[0]?.[0])}'`),
  );
  for (const args of [{}, { order: 'a', settlement: 'b' }]) {
    expect((await call('explain_difference', args)).text).toMatch(/^USAGE: expected an order or a settlement, got /);
  }
  expect((await call('explain_difference', { order: "x' OR true --" })).text).toMatch(
    /^USAGE: expected an amazon_order_id/,
  );
});

const endless = 'SELECT count(*) FROM range(1000000000000)';

test('a query ends when it is cancelled, and when its time is over; the next one runs', async () => {
  const { client, call, rows } = await connected(lake, { clock: systemClock });
  const cancel = new AbortController();
  const running = client.callTool({ name: 'query', arguments: { sql: endless } }, undefined, { signal: cancel.signal });
  const next = rows('SELECT 1');
  setTimeout(() => {
    cancel.abort('not needed');
  }, 50);
  await expect(running).rejects.toThrow(/not needed/);
  expect(await next).toEqual([[1]]);
  expect(await call('query', { sql: endless, timeout_seconds: 1 })).toEqual({
    isError: true,
    text: expect.stringMatching(/^SQL: expected the query to end within 1 s, it was stopped; [^\n]*$/) as string,
  });
  expect(await rows('SELECT 2')).toEqual([[2]]);
});

test('calls see the newest version; a lake that is gone is an error of the call, one that is missing of the start', async () => {
  const folder = await temporaryFolder();
  const part = { seed: 3, pipelines: ['financial-events'] };
  await loadAccount(folder, 'shop', { ...part, to: '2026-02-10' });
  const { call, rows } = await connected(folder);
  const newest = 'SELECT max(effective_at) FROM events';
  const before = String((await rows(newest))[0]?.[0]);
  await loadAccount(folder, 'shop', part);
  expect(String((await rows(newest))[0]?.[0]) > before).toBe(true);
  await rm(join(folder, '_catalog'), { recursive: true });
  await rm(join(folder, 'events'), { recursive: true });
  expect(await call('query', { sql: 'SELECT sum(position) FROM events' })).toMatchObject({ isError: true });
  const context = { clock, emit: () => undefined };
  await expect(createLakeServer({ lake: join(folder, 'none'), accounts: undefined }, context)).rejects.toMatchObject({
    code: 'USAGE',
  });
});
