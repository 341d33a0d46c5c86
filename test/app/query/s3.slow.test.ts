import { startEmulator } from '../../emulator/emulator.js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { LakeDatabase } from '../../../src/app/query/lake-database.js';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { CommandProcess } from '../../attack/command-process.js';
import { startS3Server, type S3Server } from '../../s3-server/server.js';
import { builtCommand } from '../built-command.js';
import { clockAt, ran } from '../lake-run.js';

const clock = clockAt('2026-03-15T12:00:00Z');
const lake = 's3://bucket/parquet/lake';

let server: S3Server;
let local: string;
/** Of a user whose home has nothing: no extension of DuckDB, no cache. */
let environment: Readonly<Record<string, string>>;
let folder: string;
/** By the variables that they have beside `environment`. */
const processes = new Map<string, CommandProcess>();

beforeAll(async () => {
  server = await startS3Server('bucket');
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
  folder = await mkdtemp(join(tmpdir(), 'ledgerlake-test-'));
  local = join(folder, 'local');
  // Every other address is behind a proxy that doesn't answer.
  const proxy = 'http://127.0.0.1:9';
  environment = { ...server.environment, HOME: folder, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '127.0.0.1' };
  const backend = () => createSeller({ seed: 3, events: 300, days: 90, profile: 'edge-cases' }, clock);
  for (const [place, accounts] of [
    [lake, ['shop', 'second shop']],
    [local, ['shop', 'second shop']],
  ] as const) {
    for (const account of accounts) {
      const seller = await startEmulator({ backend: backend(), clock });
      const range = { pipelines: ['financial-events', 'financial-event-groups'], from: '2025-12-20', to: '2026-03-10' };
      await ran({ lake: place, endpoint: seller.url, account: account.replace(' ', '-'), ...range }, { clock });
      await seller.close();
    }
  }
});
afterAll(async () => {
  vi.unstubAllEnvs();
  for (const process of processes.values()) process.close();
  await server.close();
  await rm(folder, { recursive: true });
});

/** How a command has ended. */
interface Ended {
  readonly out: string;
  readonly err: string;
  readonly code: number | null;
}

interface Ran extends Ended {
  /** The data files that were read from S3. */
  readonly fetched: readonly string[];
}

/** Runs a command in the process that has these variables, which has run others before. */
function inProcess(words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const key = JSON.stringify(more);
  const process =
    processes.get(key) ?? new CommandProcess({ folder, environment: { ...environment, ...more }, hangMs: 300_000 });
  processes.set(key, process);
  return process.run(words);
}

async function command(words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const before = server.calls.length;
  const { out, err, code } = await inProcess(words, more);
  const read = server.calls
    .slice(before)
    .filter(({ operation, key }) => operation === 'GetObject' && key.endsWith('.parquet'));
  return { out, err, code, fetched: [...new Set(read.map(({ key }) => key.replace('parquet/lake/', '')))].toSorted() };
}

const sql = (query: string, more: Readonly<Record<string, string>> = {}) =>
  command(['sql', '--lake', lake, '--format', 'csv', query], more);

async function same(query: string): Promise<Ran> {
  const there = await command([
    ...['sql', '--lake', lake, '--cache', await mkdtemp(join(folder, 'cache-'))],
    ...['--format', 'csv', query],
  ]);
  const here = await command(['sql', '--lake', local, '--format', 'csv', query]);
  expect([there.out, there.code, there.err]).toEqual([here.out, here.code, here.err]);
  return there;
}

test('a query fetches the files of the accounts and months that it reads, and a second one none', async () => {
  const query = "SELECT count(*) AS n, sum(amount) AS total FROM entries WHERE account = 'shop' AND month = '2026-01'";
  const first = await same(query);
  expect(first.fetched.length).toBeGreaterThan(0);
  for (const path of first.fetched) expect(path).toMatch(/^entries\/account=shop\/month=2026-01\//);
  expect((await sql(query)).fetched).toEqual(first.fetched);
  const second = await sql(query);
  expect([second.out, second.fetched]).toEqual([first.out, []]);
  // A further month is fetched, and nothing else.
  const more = await sql(
    "SELECT count(*) AS n FROM entries WHERE account = 'shop' AND month IN ('2026-01', '2026-02')",
  );
  for (const path of more.fetched) expect(path).toMatch(/^entries\/account=shop\/month=2026-02\//);
  expect(more.fetched.length).toBeGreaterThan(0);
});

test.each([
  ['SELECT 1 AS one', /^$/],
  ['SELECT count(*) AS n FROM events', /^events\//],
  [
    "SELECT event_list, count(*) AS n FROM events WHERE month LIKE '2026-0%' GROUP BY ALL ORDER BY ALL",
    /^events\/.*month=2026-0/,
  ],
  [
    "SELECT count(*) AS n FROM entries JOIN groups USING (account, group_id) WHERE entries.month = '2026-02'",
    /^(?:entries\/.*month=2026-02|groups\/)/,
  ],
  ["SELECT round(sum(amount), 2) AS total FROM ledger WHERE account = 'shop'", /^(?:events|entries|transaction)/],
  ["SELECT count(*) AS n FROM entries_as_known('2026-03-01')", /^(?:events|entries)/],
  [
    'WITH months AS (SELECT max(month) AS month FROM events) SELECT count(*) AS n FROM events JOIN months USING (month)',
    /^events\//,
  ],
  ["FROM query('SELECT max(group_id) AS n FROM gro' || 'ups')", /^groups\//],
  ['SELECT count(*) AS n FROM entries WHERE month = (SELECT min(month) FROM entries)', /^entries\//],
  ['DESCRIBE entries', /^$/],
  ['SELECT count(*) > 10 AS many FROM duckdb_views() WHERE NOT internal', /^$/],
])('%s gives what it gives over a copy on disk', async (query, files) => {
  const { fetched, code } = await same(query);
  expect(code).toBe(0);
  for (const path of fetched) expect(path).toMatch(files);
});

test.each(['FROM nothing', 'SELECT absent FROM entries', 'SELEC 1', 'FROM entires'])(
  '%s fails as over a copy on disk, and fetches nothing',
  async (query) => {
    const { fetched, code } = await same(query);
    expect([fetched, code]).toEqual([[], 1]);
  },
);

test('a shell fetches for its own views, prepared statements and tables', async () => {
  const typed = [
    "CREATE VIEW mine AS SELECT * FROM entries WHERE month = '2026-01';",
    'SELECT count(*) AS n FROM mine;',
    'PREPARE of_month AS SELECT count(*) AS n FROM events WHERE month = $1;',
    "EXECUTE of_month('2026-02');",
    "EXECUTE of_month('2026-01');",
    'CREATE TABLE kept AS SELECT event_id FROM events;',
    'SELECT count(*) AS n FROM kept;',
    'EXPLAIN ANALYZE SELECT count(*) FROM groups;',
    "COPY (SELECT count(*) AS n FROM groups) TO 'groups.csv';",
  ].join('\n');
  const run = async (place: string) => {
    const child = spawn(process.execPath, [resolve('dist/src/cli.js'), 'sql', '--lake', place, '--format', 'ndjson'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], ...environment, LEDGERLAKE_CACHE: join(folder, 'cache-shell') },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.end(typed);
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { rows: out.split('\n').filter((line) => line.startsWith('{"n":')), err };
  };
  const there = await run(lake);
  expect(there).toEqual(await run(local));
  expect(there.rows).toHaveLength(4);
});

test('the report is the same as over a copy on disk', async () => {
  const report = async (place: string) =>
    (await command(['report', '--lake', place, '-o', '-'])).out.replaceAll(place, 'LAKE');
  const there = await report(lake);
  expect(there).toContain('</html>');
  const figures = (html: string) => html.match(/-?\d[\d,]*\.\d\d/g);
  expect(figures(there)).toEqual(figures(await report(local)));
});

test('a program queries a lake on S3', async () => {
  const script =
    `import { openLake } from ${JSON.stringify(pathToFileURL(resolve('dist/src/index.js')).href)};` +
    `const lake = await openLake('${lake}');` +
    `console.log(JSON.stringify(await lake.sql('CREATE TABLE t AS FROM groups; SELECT count(*)::INT AS n FROM t')));` +
    `await lake.close();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const expected = await command(['sql', '--lake', local, '--format', 'json', 'SELECT count(*)::INT AS n FROM groups']);
  expect(JSON.parse(await text(child.stdout))).toEqual(JSON.parse(expected.out));
});

test('serve over a lake on S3 serves its events and its report', async () => {
  const words = ['serve', '--lake', lake, '--account', 'shop', '--port', '0'];
  const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill());
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const address = /http:\/\/\S+/.exec(line)?.[0] ?? '';
  const events = await fetch(`${address}/finances/v0/financialEvents?PostedAfter=2026-01-01T00:00:00Z`);
  expect(events.status).toBe(200);
  const report = await fetch(`${address}/`);
  expect(await report.text()).toMatch(/Settlements[^]*<\/html>/);
  child.kill();
  await once(child, 'close');
});

test('a copy that has changed is fetched again; what the lake has lost names the file', async () => {
  const cache = join(folder, 'cache-damage');
  const query = "SELECT count(*) AS n FROM events WHERE account = 'shop' AND month = '2026-01'";
  const { out, fetched } = await sql(query, { LEDGERLAKE_CACHE: cache });
  const [path = ''] = fetched;
  const [lakeFolder = ''] = await readdir(cache);
  const copy = join(cache, lakeFolder, path);
  expect((await stat(copy)).mode & 0o077).toBe(0);
  expect((await stat(join(cache, lakeFolder))).mode & 0o077).toBe(0);
  await writeFile(copy, 'no Parquet');
  const again = await sql(query, { LEDGERLAKE_CACHE: cache });
  expect([again.out, again.fetched]).toEqual([out, [path]]);

  await rm(copy);
  const bucket = server.bucket('bucket');
  const object = bucket.objects.get(`parquet/lake/${path}`);
  bucket.objects.delete(`parquet/lake/${path}`);
  try {
    const lost = await sql(query, { LEDGERLAKE_CACHE: cache });
    expect([lost.out, lost.code]).toEqual(['', 1]);
    expect(lost.err).toMatch(new RegExp(`expected the file s3://bucket/parquet/lake/${path} .*it is missing.*verify`));
  } finally {
    if (object !== undefined) bucket.objects.set(`parquet/lake/${path}`, object);
  }
});

test('copies of an account that is forgotten go at the next use', async () => {
  const cache = join(folder, 'cache-forgotten');
  const place = 's3://bucket/other';
  const seller = await startEmulator({
    backend: createSeller({ seed: 4, events: 60, profile: 'plausible' }, clock),
    clock,
  });
  const range = { pipelines: ['financial-events'], from: '2026-01-01', to: '2026-02-01' };
  for (const account of ['stays', 'goes'])
    await ran({ lake: place, endpoint: seller.url, account, ...range }, { clock });
  await seller.close();
  const query = ['sql', '--lake', place, '--cache', cache];
  const copied = async () =>
    (await readdir(cache, { recursive: true })).filter((path) => /account=goes.*-\d\.parquet$/.test(path));
  await command([...query, 'SELECT max(raw) FROM events']);
  expect(await copied()).not.toEqual([]);
  await command(['forget', '--lake', place, '--account', 'goes', '--yes']);
  await command([...query, 'SELECT 1']);
  expect(await copied()).toEqual([]);
});

test('several processes share a cache, and one that is stopped leaves what it has', async () => {
  const cache = { LEDGERLAKE_CACHE: join(folder, 'cache-shared') };
  const query = 'SELECT count(DISTINCT event_id) AS n FROM events';
  const words = ['sql', '--lake', lake, '--format', 'csv', query];
  const all = await Promise.all(
    [1, 2, 3].map(() => builtCommand(words, { folder, environment: { ...environment, ...cache } })),
  );
  expect(new Set(all.map(({ out }) => out)).size).toBe(1);
  const names = await readdir(cache.LEDGERLAKE_CACHE, { recursive: true });
  expect(names.filter((name) => name.endsWith('.part'))).toEqual([]);
  expect((await sql(query, cache)).fetched).toEqual([]);
});

test('copies that go while a program has them open are fetched again', async () => {
  const cache = join(folder, 'cache-going');
  const reader = await openLakeReader(lake, clock, { cache, cacheGigabytes: 1 });
  const views = await LakeDatabase.open(reader);
  onTestFinished(() => {
    views.close();
  });
  await views.refresh();
  const count = async () => (await views.rows('SELECT count(DISTINCT event_id) AS n FROM events'))[0]?.['n'];
  const n = await count();
  expect(Number(n)).toBeGreaterThan(100);
  await rm(cache, { recursive: true });
  await views.refresh();
  expect(await count()).toBe(n);
  await rm(cache, { recursive: true });
  expect(await count()).toBe(n);
});

test('what does not fit the cache is refused before it is fetched; what was used longest ago goes', async () => {
  const cache = join(folder, 'cache-small');
  const small = { LEDGERLAKE_CACHE: cache, LEDGERLAKE_CACHE_GIGABYTES: '0.00002' };
  const all = await sql('SELECT sum(length(raw)) AS n FROM events', small);
  expect([all.code, all.fetched]).toEqual([1, []]);
  expect(all.err).toMatch(
    /expected files that fit the cache of .*, got \d+ files of events with .*; narrow the query by account or month/,
  );
  const months = ['2025-12', '2026-01', '2026-02', '2026-03'];
  const most = { ...small, LEDGERLAKE_CACHE_GIGABYTES: '0.00006' };
  const ofMonth = (month: string) => `SELECT count(*) AS n FROM entries WHERE account = 'shop' AND month = '${month}'`;
  for (const month of months) expect((await sql(ofMonth(month), most)).code).toBe(0);
  const fetchedOf = async (month: string) => (await sql(ofMonth(month), most)).fetched.length;
  expect([await fetchedOf('2026-03'), (await fetchedOf('2025-12')) > 0]).toEqual([0, true]);
  const { out } = await command(['cache', '--cache', cache]);
  expect(out).toMatch(/cache-small: \d+ files?, [\d.]+ kB of 10.0 GB\n$/);
  expect((await command(['cache', '--cache', cache, '--clear'])).out).toMatch(/removed \d+ file/);
  expect(await readdir(cache)).toEqual([]);
});

test('what is served of the lake has a cache of the size that is set', async () => {
  const more = { LEDGERLAKE_CACHE: join(folder, 'cache-served'), LEDGERLAKE_CACHE_GIGABYTES: '0.00002' };
  const words = ['serve', '--lake', lake, '--account', 'shop', '--port', '0'];
  const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill();
  });
  const said = text(child.stderr);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const address = line.replace('listening on ', '');
  const answer = await fetch(`${address}/finances/v0/financialEvents?PostedAfter=2025-12-20&PostedBefore=2026-03-01`);
  expect(answer.status).toBe(500);
  child.kill();
  expect(await said).toContain('expected files that fit the cache of 20.0 kB, got ');
});

test('journals of a lake on S3 are those of the lake on a disk, and adjustments read its files too', async () => {
  const words = (of: string, ...more: string[]) => ['export', 'journal', '--lake', of, '--month', '2026-01', ...more];
  const withoutVersion = ({ out }: Ran) => out.replaceAll(/catalog version \d+/g, 'catalog version');
  const [remote, here] = [await command(words(lake)), await command(words(local))];
  expect([remote.code, withoutVersion(remote)]).toEqual([0, withoutVersion(here)]);
  expect(remote.out.split('\n').length).toBeGreaterThan(50);
  const [adjusted, adjustedHere] = [
    await command(words(lake, '--since', '0')),
    await command(words(local, '--since', '0')),
  ];
  expect([adjusted.code, withoutVersion(adjusted)]).toEqual([0, withoutVersion(adjustedHere)]);
  expect(adjusted.out).toMatch(/,paid,.*,Amazon clearing,.*Adjustment of 2026-01 of shop, booked from version 0/);
  const newest = /made from version (\d+) of the catalog/.exec(remote.err)?.[1] ?? '';
  const same = await command(words(lake, '--since', newest));
  expect(same).toMatchObject({
    code: 0,
    err: expect.stringContaining(`nothing has changed since version ${newest}`) as string,
  });
  expect(same.out.split('\n').length).toBe(2);
});

test('an answer of ask, and a file of sql, are those of the lake on a disk', async () => {
  for (const question of ['largest-fees', 'payouts']) {
    const words = (of: string) => ['ask', question, '--lake', of, '--format', 'csv'];
    const [there, here] = [await command(words(lake)), await command(words(local))];
    expect([there.code, there.out]).toEqual([0, here.out]);
    expect(there.out.split('\n').length, question).toBeGreaterThan(3);
  }
  const query = "SELECT event_id, sku, amount, currency FROM entries WHERE account = 'shop' ORDER BY ALL";
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  const rowsOf = async (place: string, name: string) => {
    const { code } = await command(['sql', '--lake', place, '-o', name, query]);
    expect(code).toBe(0);
    return database.rows(`FROM read_parquet('${join(folder, name)}')`);
  };
  const rows = await rowsOf(lake, 'there.parquet');
  expect(rows.length).toBeGreaterThan(1000);
  expect(rows).toEqual(await rowsOf(local, 'here.parquet'));
});

test('changes reads the files that came since a version, and has their rows', async () => {
  const commits = [...server.bucket('bucket').objects].filter(([key]) => /lake\/_catalog\/\d{20}\.json$/.test(key));
  const [first = ''] = commits
    .filter(([, { bytes }]) => Buffer.from(bytes).includes('second-shop'))
    .map(([key]) => key)
    .toSorted();
  const since = String(Number(first.slice(-25, -5)) - 1);
  const before = server.calls.length;
  const { code, out, fetched } = await command(['changes', '--lake', lake, '--table', 'events', '--since', since]);
  expect(code).toBe(0);
  expect(fetched.length).toBeGreaterThan(0);
  for (const path of fetched) expect(path).toMatch(/^events\/account=second-shop\//);
  expect(server.calls.slice(before).map(({ operation }) => operation)).not.toContain('PutObject');
  const changed = out
    .trimEnd()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Readonly<Record<'_change_type' | 'account' | 'raw', string>>);
  expect(new Set(changed.map(({ _change_type, account }) => `${_change_type} ${account}`))).toEqual(
    new Set(['insert second-shop']),
  );
  const held = await command([
    ...['sql', '--lake', local, '--format', 'json'],
    "SELECT raw FROM events WHERE account = 'second-shop'",
  ]);
  const raws = (rows: readonly { raw: string }[]) => rows.map(({ raw }) => raw).toSorted();
  expect(raws(changed)).toEqual(raws(JSON.parse(held.out) as { raw: string }[]));
});
