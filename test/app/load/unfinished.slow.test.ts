import { spawn } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.js';
import { forget } from '../../../src/app/forget/forget.js';
import { status } from '../../../src/app/status/status.js';
import { verify } from '../../../src/app/verify/verify.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { noteRequestedRanges } from '../../../src/lake/upkeep/requested-ranges.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { servedBucket } from '../../s3-server/served-bucket.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { verified } from '../verify/verified.js';
import { setClock, synced, type SetClock } from './synced.js';
import { listening } from '../../listening.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

// Real sockets and processes, on machines that have others to do.
const dayMs = 86_400_000;
const begin = '2026-03-20T02:00:00Z';

/** It stands still, and who sleeps on it soon wakes. */
function briefClock(iso: string): SetClock {
  const clock = setClock(iso);
  return {
    ...clock,
    sleep: (ms, signal) => systemClock.sleep(Math.min(ms / 1000, 50), signal),
  };
}

interface Shop {
  /** From when on the service answers: what begins before it is refused. */
  from: number;
  /** Takes when what a request asks for begins. */
  watch: (begins: number) => void;
  readonly clock: SetClock;
  readonly given: { readonly lake: string; readonly endpoint: string; readonly account: string; readonly api: Api };
}

type Api = 'v0' | '2024-06-19';

/** What a request asks for by date begins with one of these. */
const beginnings = ['PostedAfter', 'postedAfter', 'FinancialEventGroupStartedAfter'];

async function shop(api: Api, location?: string): Promise<Shop> {
  const clock = briefClock(begin);
  const of: Pick<Shop, 'from' | 'watch'> = { from: -Infinity, watch: () => undefined };
  const backend = createSeller({ seed: 7, events: 600, days: 130, profile: 'plausible' }, clock);
  const server = await serving({ backend, clock });
  const proxy = createServer((request, response) => {
    // The clock of the machine is not that of the test.
    response.sendDate = false;
    const url = new URL(request.url ?? '', server);
    const begins = Date.parse(beginnings.map((name) => url.searchParams.get(name)).find((text) => text !== null) ?? '');
    of.watch(begins);
    if (begins < of.from) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"errors":[{"code":"InvalidInput","message":"not now"}]}');
      return;
    }
    void fetch(url).then(async (answer) => {
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(await answer.text());
    });
  });
  const endpoint = await listening(proxy);
  const lake = location ?? (await temporaryFolder());
  return Object.assign(of, { clock, given: { lake, endpoint, account: 'shop', api } });
}

const tables: Readonly<Record<Api, readonly string[]>> = {
  v0: ['events', 'entries', 'groups', 'group_events', 'group_entries'],
  '2024-06-19': ['transactions', 'transaction_entries', 'groups'],
};

/** Rows that one of two lakes has and the other one lacks. */
async function differences(one: string, other: string, clock: SetClock, api: Api): Promise<number> {
  let different = 0;
  for (const table of tables[api]) {
    // A month that is listed in two parts has the same settlements.
    const columns = table === 'groups' ? '* EXCLUDE (window_start, window_end)' : '*';
    const duckdb = await database(one, clock, `FROM ${table}`);
    const files = `read_parquet('${other}/${table}/account=*/month=*/*.parquet', hive_partitioning = true)`;
    const [theirs, ours] = [`SELECT ${columns} FROM ${files}`, `SELECT ${columns} FROM ${table}`];
    const [row] = await duckdb.rows(
      `SELECT (SELECT count(*) FROM (${theirs} EXCEPT ALL ${ours})) + (SELECT count(*) FROM (${ours} EXCEPT ALL ${theirs})) AS n, ` +
        `(SELECT count(*) FROM (${ours})) AS held`,
    );
    expect(Number(row?.['held']), table).toBeGreaterThan(0);
    different += Number(row?.['n']);
  }
  return different;
}

interface Status {
  readonly accounts: readonly {
    readonly from: string;
    readonly command: string | null;
    readonly unfinished: readonly string[];
    readonly pipelines: readonly {
      readonly pipeline: string;
      readonly gaps: readonly { from: string; to: string }[];
    }[];
  }[];
}

async function statusOf(
  lake: string,
  clock: SetClock,
  log: (line: string) => void = () => undefined,
  maxLag?: string,
): Promise<Status> {
  const output = new PassThrough();
  const written = text(output);
  const range = { from: undefined, to: undefined };
  const options = { lake, account: undefined, ...range, maxLag, format: 'json' as const, color: false };
  await status(options, { clock, signal: new AbortController().signal, output, emit: plainLog(log) });
  output.end();
  return JSON.parse(await written) as Status;
}

async function verdictOf(lake: string, clock: SetClock, strict: boolean): Promise<string> {
  const output = new PassThrough();
  const written = text(output);
  const context = { clock, signal: new AbortController().signal, output, emit: () => undefined };
  await verify({ lake, format: 'table', strict }, context);
  output.end();
  return (await written).trimEnd().split('\n').at(-1) ?? '';
}

async function forgotten(lake: string, before: string, clock: SetClock): Promise<void> {
  const context = { clock, signal: new AbortController().signal, confirm: undefined, emit: () => undefined };
  await forget({ lake, journal: undefined, account: 'shop', before, yes: true }, context);
}

const notes = async (lake: string): Promise<string[]> => {
  const paths: string[] = [];
  for await (const { path } of openStore(lake).list('_requested')) paths.push(path);
  return paths;
};

/** The first day of the first sync, and one from which on the service answers at first. */
const first = '2025-12-20';
const answered = '2025-12-22';

const codeOf = (failure: unknown): unknown => failure instanceof Error && 'code' in failure && failure.code;

describe.each(['v0', '2024-06-19'] as const)('a first sync of %s that leaves its oldest days open', (api) => {
  const dated = api === 'v0' ? 'financial-events' : 'transactions';

  test('is told by status and verify, and the next one loads them', async () => {
    const of = await shop(api);
    const { given, clock } = of;
    of.from = Date.parse(answered);
    expect(codeOf((await synced(given, { clock })).failure)).toBe('INCOMPLETE');

    const [account] = (await statusOf(given.lake, clock)).accounts;
    expect(account?.from).toBe(`${first}T00:00:00.000Z`);
    const { gaps = [] } = account?.pipelines.find(({ pipeline }) => pipeline === dated) ?? {};
    expect(gaps[0]).toEqual({ from: `${first}T00:00:00.000Z`, to: `${answered}T00:00:00.000Z` });
    expect(account?.command).toContain(`--from ${first} --to`);
    const certificate = await verified({ root: given.lake, clock }, true);
    expect(certificate).toMatchObject({ code: 1, verdict: 'findings' });
    const lacks = certificate.problems
      .filter(({ check }) => check === 'requested-ranges')
      .map(({ command }) => command);
    const loads = new RegExp(`^ledgerlake backfill ${dated} --account shop --from ${first} --to \\S+ --lake \\S+ .*`);
    expect(lacks).toContainEqual(expect.stringMatching(loads));
    expect((await verified({ root: given.lake, clock })).code).toBe(0);
    const lacking = `${given.lake} lacks ${api === 'v0' ? 3 : 2} ranges`;
    expect(await verdictOf(given.lake, clock, true)).toContain(`NOT WHOLE: ${lacking}`);
    // What two commands were asked for is one range, with one command that loads it.
    const part = { start: Date.parse('2025-12-21'), end: Date.parse('2025-12-22') };
    await noteRequestedRanges(
      openStore(given.lake),
      'shop',
      'other',
      [{ command: 'backfill', pipeline: dated, ...part }],
      [],
    );
    expect(await verdictOf(given.lake, clock, true)).toContain(`NOT WHOLE: ${lacking}`);
    await openStore(given.lake).remove('_requested/shop.other.json');
    expect(await verdictOf(given.lake, clock, false)).toMatch(
      /^WHOLE, but \d ranges that were requested are not loaded: run the commands above; .* with --strict the exit code is 1/,
    );

    // As long as the service refuses them the sync fails, however many days go by.
    clock.set('2026-03-26T02:00:00Z');
    const again = await synced(given, { clock });
    expect(codeOf(again.failure)).toBe('INCOMPLETE');
    expect(again.summary.lag_seconds).toBeGreaterThan(90 * 86_400);
    expect(await notes(given.lake)).toHaveLength(1);
    of.from = -Infinity;
    expect((await synced(given, { clock })).failure).toBeUndefined();
    expect(await notes(given.lake)).toEqual([]);
    expect((await statusOf(given.lake, clock)).accounts[0]).toMatchObject({ command: null });
    expect(await verified({ root: given.lake, clock }, true)).toMatchObject({ code: 0, verdict: 'whole' });

    const fresh = await temporaryFolder();
    clock.set(begin);
    expect((await synced({ ...given, lake: fresh }, { clock })).failure).toBeUndefined();
    clock.set('2026-03-26T02:00:00Z');
    expect((await synced({ ...given, lake: fresh }, { clock })).failure).toBeUndefined();
    expect(await differences(given.lake, fresh, clock, api)).toBe(0);
  });

  test('and is killed then', async () => {
    const of = await shop(api);
    const { given, clock } = of;
    // The process has the time of the machine, and so has its service.
    clock.set(Date.now());
    of.from = Math.floor(clock.now() / dayMs - 90) * dayMs + 1;
    const words = ['sync', '--lake', given.lake, '--endpoint', given.endpoint, '--account', 'shop', '--api', api];
    const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...words, '--rate', '1000', '--burst', '1000']);
    of.watch = (begins) => {
      if (begins > clock.now() - 3 * dayMs) child.kill('SIGKILL');
    };
    await new Promise((done) => child.once('close', done));
    expect(child.signalCode).toBe('SIGKILL');
    of.watch = () => undefined;
    of.from = -Infinity;
    clock.set(Date.now());
    const [account] = (await statusOf(given.lake, clock)).accounts;
    expect(Date.parse(account?.from ?? '')).toBeLessThan(clock.now() - 89 * dayMs);
    expect((await synced(given, { clock })).failure).toBeUndefined();
    expect(await notes(given.lake)).toEqual([]);

    const fresh = await temporaryFolder();
    expect((await synced({ ...given, lake: fresh }, { clock })).failure).toBeUndefined();
    expect(await differences(given.lake, fresh, clock, api)).toBe(0);
  });

  test('is done with once these days are forgotten', async () => {
    const of = await shop(api);
    const { clock } = of;
    const given = { ...of.given, pipelines: [dated] };
    of.from = Date.parse(answered);
    expect(codeOf((await synced(given, { clock })).failure)).toBe('INCOMPLETE');
    await forgotten(given.lake, '2025-12-21', clock);
    expect((await statusOf(given.lake, clock)).accounts[0]?.from).toBe('2025-12-21T00:00:00.000Z');
    await forgotten(given.lake, answered, clock);
    expect((await statusOf(given.lake, clock)).accounts[0]).toMatchObject({ command: null });
    expect(await verified({ root: given.lake, clock }, true)).toMatchObject({ code: 0 });
    expect((await synced(given, { clock })).failure).toBeUndefined();
    expect(await notes(given.lake)).toEqual([]);
  });
});

describe('an interrupted backfill', () => {
  test.each([
    ['within the last 90 days', '2025-12-23'],
    ['before them', '2025-11-15'],
  ])('is closed by the next sync, %s', async (_name, from) => {
    const of = await shop('v0');
    const { given, clock } = of;
    const pipelines = ['financial-events'];
    of.from = Date.parse(from) + 1;
    const failure = await ran({ ...given, pipelines, from }, { clock }).catch((error: unknown) => error);
    expect(codeOf(failure)).toBe('INCOMPLETE');
    of.from = -Infinity;
    expect((await statusOf(given.lake, clock)).accounts[0]?.command).toContain(`--from ${from} --to`);
    expect((await verified({ root: given.lake, clock }, true)).code).toBe(1);
    const { failure: none } = await synced({ ...given, pipelines }, { clock });
    expect(none).toBeUndefined();
    const [account] = (await statusOf(given.lake, clock)).accounts;
    expect(account).toMatchObject({ from: `${from}T00:00:00.000Z`, command: null });
    expect(await notes(given.lake)).toEqual([]);
    expect((await verified({ root: given.lake, clock }, true)).code).toBe(0);
  });

  test('of a first load has its newest months: status and --max-lag name the others, and sync loads them months later', async () => {
    const of = await shop('v0');
    const { given, clock } = of;
    const pipelines = ['financial-events'];
    of.from = Date.parse('2026-02-01');
    const failure = await ran({ ...given, pipelines, from: '2026-01-30' }, { clock }).catch((error: unknown) => error);
    expect(codeOf(failure)).toBe('INCOMPLETE');
    of.from = -Infinity;
    const { accounts } = await statusOf(given.lake, clock);
    expect(accounts[0]).toMatchObject({
      from: '2026-01-30T00:00:00.000Z',
      complete_from: '2026-02-01T00:00:00.000Z',
      complete_to: '2026-03-20T01:55:00.000Z',
      lag_seconds: 49 * 86_400 + 2 * 3600,
    });
    expect(accounts[0]?.pipelines[0]?.gaps).toEqual([
      { from: '2026-01-30T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' },
    ]);
    const late = statusOf(given.lake, clock, undefined, '1d');
    await expect(late).rejects.toThrow(
      /is complete up to 2026-01-30\S*, lacks days until 2026-02-01\S*, and is complete again up to 2026-03-20T01:55/,
    );

    // A year later a service that keeps two years still has them.
    clock.set('2027-03-20T02:00:00Z');
    const { summary, failure: none } = await synced({ ...given, pipelines, maxLag: '1d' }, { clock });
    expect(none).toBeUndefined();
    expect(summary.lag_seconds).toBe(300);
    expect((await statusOf(given.lake, clock)).accounts[0]).toMatchObject({
      complete_from: '2026-01-30T00:00:00.000Z',
      command: null,
    });
  });

  test('that came to nothing of a pipeline leaves word of it, whatever runs come after', async () => {
    const of = await shop('v0');
    const { given, clock } = of;
    of.from = Infinity;
    await ran({ ...given, from: '2026-03-01' }, { clock }).catch(() => undefined);
    of.from = -Infinity;
    await ran({ ...given, pipelines: ['financial-events'], from: '2026-03-01' }, { clock });
    const [account] = (await statusOf(given.lake, clock)).accounts;
    expect(account?.unfinished).toEqual(['financial-event-groups', 'group-events']);
    expect(account?.command).toContain('--from 2026-03-01 --to');
  });
});

test('a lake on S3 keeps what was asked for, too', async () => {
  await servedBucket();
  const of = await shop('v0', 's3://bucket/lakes/shop');
  const { given, clock } = of;
  const pipelines = ['financial-events'];
  of.from = Date.parse(answered);
  expect(codeOf((await synced({ ...given, pipelines }, { clock })).failure)).toBe('INCOMPLETE');
  expect(await notes(given.lake)).toHaveLength(1);
  of.from = -Infinity;
  expect((await synced({ ...given, pipelines }, { clock })).failure).toBeUndefined();
  expect(await notes(given.lake)).toEqual([]);
  expect((await statusOf(given.lake, clock)).accounts[0]).toMatchObject({
    from: `${first}T00:00:00.000Z`,
    command: null,
  });
});

test.each([
  ['no JSON', '{"ranges"'],
  ['no list', '{"ranges":{}}'],
  ['another account', JSON.stringify({ account: 'other', ranges: [noted()] })],
  ['another command', JSON.stringify({ account: 'shop', ranges: [{ ...noted(), command: 'rm -rf' }] })],
  ['an end before its beginning', JSON.stringify({ account: 'shop', ranges: [noted({ to: '2020-01-01' })] })],
  ['a time that never was', JSON.stringify({ account: 'shop', ranges: [noted({ from: '-200000-01-01T00:00:00Z' })] })],
  ['too many ranges', JSON.stringify({ account: 'shop', ranges: Array.from({ length: 1001 }, () => noted()) })],
  ['too many bytes', JSON.stringify({ account: 'shop', ranges: [], more: 'x'.repeat(1_000_001) })],
])('a note with %s is passed over with a line', async (_name, written) => {
  const of = await shop('v0');
  const { given, clock } = of;
  const pipelines = ['financial-events'];
  await ran({ ...given, pipelines, from: '2026-03-01' }, { clock });
  const folder = join(given.lake, '_requested');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'shop.note.json'), written);
  const lines: string[] = [];
  expect((await statusOf(given.lake, clock, (line) => lines.push(line))).accounts[0]).toMatchObject({ command: null });
  expect(lines).toEqual([expect.stringContaining('ignored _requested/shop.note.json')]);
  const { logged, failure } = await synced({ ...given, pipelines }, { clock });
  expect(failure).toBeUndefined();
  expect(logged.split('\n').filter((line) => line.includes('ignored'))).toHaveLength(1);
  expect(await readdir(folder)).toEqual(['shop.note.json']);
});

function noted(of: object = {}): object {
  return { command: 'sync', pipeline: 'financial-events', from: '2025-01-01', to: '2025-02-01', ...of };
}
