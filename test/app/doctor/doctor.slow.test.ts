import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { backup } from '../../../src/app/backup/backup.js';
import { doctor, examine } from '../../../src/app/doctor/doctor.js';
import type { DoctorFinding, DoctorReport } from '../../../src/app/results.js';
import { systemClock, type Clock } from '../../../src/core/clock.js';
import { Catalog } from '../../../src/lake/catalog/catalog.js';
import { commitPath } from '../../../src/lake/catalog/catalog-files.js';
import { canonicalCommit, sealCommit } from '../../../src/lake/catalog/commit.js';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import { secrets, tokenEndpoint } from '../../engine/auth/token-endpoint.js';
import { january, stripeAnswer } from '../../sources/custom/example-answers.js';
import { exampleLoaded } from '../../sources/custom/custom-run.js';
import { exampleServer } from '../../sources/custom/example-server.js';
import { listening } from '../../listening.js';
import { servedBucket } from '../../s3-server/served-bucket.js';
import { builtCommand } from '../built-command.js';
import { clockAt, ran, serving, temporaryFolder } from '../lake-run.js';

const dayMs = 86_400_000;
const daysAgo = (days: number) => new Date(Math.floor(Date.now() / dayMs - days) * dayMs).toISOString();
const backend = createSeller({ seed: 3, events: 400, profile: 'edge-cases' }, systemClock);

/** A lake of `shop` that is loaded up to now, without the runs' state. */
const whole = join(tmpdir(), `ledgerlake-doctor-${process.pid}`);
beforeAll(async () => {
  const { startEmulator } = await import('../../emulator/emulator.js');
  const apiServer = await startEmulator({ backend, clock: systemClock });
  await ran({ lake: whole, endpoint: apiServer.url, account: 'shop', from: daysAgo(20) }, { clock: systemClock });
  await apiServer.close();
});
afterAll(() => rm(whole, { recursive: true, force: true }));

interface Setup {
  readonly faults?: Faults;
  readonly answer?: Parameters<typeof tokenEndpoint>[0];
}

/** A folder with a configuration of `shop`, its service, its token endpoint, and a copy of the lake. */
async function setUp({ faults, answer }: Setup = {}) {
  const folder = await temporaryFolder();
  const endpoint = await serving({ backend, clock: systemClock, faults });
  const tokens = await tokenEndpoint(answer);
  const shop = { endpoint, tokenEndpoint: tokens.url, ...secrets };
  const settings = { lake: 'lake', rate: 1000, burst: 1000 };
  await writeFile(join(folder, 'c.json'), JSON.stringify({ settings, accounts: { shop } }), { mode: 0o600 });
  await cp(whole, join(folder, 'lake'), { recursive: true });
  return { folder, lake: join(folder, 'lake'), tokens };
}

async function examineIn(
  folder: string,
  given: {
    texts?: Readonly<Record<string, string>>;
    environment?: Readonly<Record<string, string>>;
    clock?: Clock;
  } = {},
): Promise<DoctorReport> {
  const { texts, environment = {}, clock = systemClock } = given;
  const { signal } = new AbortController();
  const examination = { texts: { config: join(folder, 'c.json'), ...texts }, environment, workingFolder: folder };
  const report = await examine({ ...examination, account: undefined }, { clock, signal, emit: () => undefined });
  const printed = JSON.stringify(report);
  for (const secret of [...Object.values(secrets), 'nobody-may-see-this']) expect(printed).not.toContain(secret);
  return report;
}

/** The findings that are no `ok`, as `state group: found`. */
function troubles({ findings }: DoctorReport): string[] {
  return findings.filter(({ state }) => state !== 'ok').map(({ state, group, found }) => `${state} ${group}: ${found}`);
}

function only(report: DoctorReport, group: DoctorFinding['group']): DoctorFinding {
  const [finding, ...others] = report.findings.filter((of) => of.group === group && of.state !== 'ok');
  expect(others).toEqual([]);
  if (finding === undefined) throw new Error(`expected a finding of ${group}`);
  return finding;
}

async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return Promise.all(
    names.toSorted().map(async (name) => `${name} ${await readFile(join(folder, name), 'latin1').catch(() => '')}`),
  );
}

test('a lake that is well: each operation is requested once, and not a byte of the lake changes', async () => {
  const { folder, lake, tokens } = await setUp();
  const before = await filesIn(lake);
  const environment = { LEDGERLAKE_NOTIFY: 'https://user:nobody-may-see-this@127.0.0.1:9/nobody-may-see-this' };
  const report = await examineIn(folder, { environment });
  expect(troubles(report)).toEqual([]);
  expect(report).toMatchObject({ lake, state: 'ok' });
  expect(tokens.asked).toHaveLength(1);
  expect(await filesIn(lake)).toEqual(before);
  const found = report.findings.map(({ group, found }) => `${group}: ${found}`);
  for (const expected of [
    /^configuration: .*c\.json is valid and has 1 account: shop$/,
    /^configuration: the commands of a night post to 127\.0\.0\.1:9 how they have ended; nothing was posted now$/,
    /^credentials: shop: signed in, http:\S+ answered ListFinancialEventGroups, ListFinancialEvents, ListFinancialEventsByGroupId$/,
    /^clock: equal to those of the services, to 1 s$/,
    /^store: \S+ can be written, read, listed and cleared, and creates a file for one writer only$/,
    /^disk: .* free at /,
    /^lake: shop: complete up to \S+, \d+ min.* ago/,
    /^lake: catalog \d+:[0-9a-f]{64}; \d+ commits chained, \d+ published versions equal to them$/,
    /^lake: \d+ data files, .*: all are there, with their sizes; verify reads them$/,
    /^versions: ledgerlake \d+\.\d+\.\d+, Node v\d+\.\S+, DuckDB v\d+\.\d+\.\d+$/,
  ]) {
    expect(found).toContainEqual(expect.stringMatching(expected));
  }
});

test('a client secret that is refused is a fault, and stops no other examination', async () => {
  const refuse = () => ({ status: 401, body: '{"error":"invalid_client"}' });
  const { folder } = await setUp({ answer: refuse });
  const report = await examineIn(folder);
  expect(troubles(report)).toEqual([
    expect.stringMatching(
      /^fault credentials: .*status 401 \(invalid_client\): check the client id and the client secret/,
    ),
  ]);
  expect(new Set(report.findings.map(({ group }) => group)).size).toBe(7);
});

test('a role that is missing for one API is named, with its operation alone', async () => {
  const faults: Faults = { 'access-denied': { when: ({ operation }) => operation.startsWith('ListFinancialEvents') } };
  const { folder } = await setUp({ faults });
  const denied = only(await examineIn(folder), 'credentials');
  expect(denied).toMatchObject({ account: 'shop', state: 'fault' });
  expect(denied.found).toMatch(
    /^shop: ListFinancialEvents got status 403: .* lacks the role Finance and Accounting.*\. The same of ListFinancialEventsByGroupId\.$/,
  );
});

test('an access token that has expired is replaced; where the next ones have too, the sign-in is named', async () => {
  const once = await setUp({ faults: { 'access-token-expired': { times: 1 } } });
  expect(troubles(await examineIn(once.folder))).toEqual([]);
  const faults: Faults = { 'access-token-expired': { when: ({ operation }) => operation === 'ListFinancialEvents' } };
  const always = await setUp({ faults });
  expect(only(await examineIn(always.folder), 'credentials').found).toMatch(
    /status 403: .*expired.* sign-in and the endpoint belong together/,
  );
});

test.each([
  ['clock-fast', 7.5, 'fault', /^7 min .*behind that of a service; set the clock/],
  ['clock-slow', 2, 'warning', /^2 min.* ahead of that of a service/],
] as const)('%s: a clock that differs by %d minutes is a %s', async (kind, amount, state, found) => {
  const { folder } = await setUp({ faults: { [kind]: { amount } } });
  const finding = only(await examineIn(folder), 'clock');
  expect(finding).toMatchObject({ state, command: 'timedatectl set-ntp true' });
  expect(finding.found).toMatch(found);
});

test('a store that cannot be written is a fault', async () => {
  const { folder, lake } = await setUp();
  await rm(join(lake, '_tmp'), { recursive: true });
  await writeFile(join(lake, '_tmp'), '');
  expect(troubles(await examineIn(folder))).toEqual([
    expect.stringMatching(/^fault store: cannot write .*\/lake\/_doctor-/),
  ]);
});

test('a lake and state in folders that cannot be created are faults of store and disk', async () => {
  const { folder } = await setUp();
  const file = join(folder, 'c.json');
  const report = await examineIn(folder, { texts: { lake: join(file, 'lake'), journal: join(file, 'state') } });
  expect(report.state).toBe('fault');
  expect(troubles(report).join('\n')).toMatch(/^fault lake: .*c\.json/m);
});

test('a data file that a backup lacks is copied again', async () => {
  const { folder, lake } = await setUp();
  const copy = join(folder, 'copy');
  const context = { clock: systemClock, signal: new AbortController().signal, emit: () => undefined };
  await backup({ lake, destination: copy }, context);
  const names = await readdir(join(copy, 'events'), { recursive: true });
  await rm(join(copy, 'events', names.find((name) => name.endsWith('.parquet')) ?? ''));
  const { findings } = await examineIn(folder, { texts: { lake: copy } });
  expect(findings.filter(({ state }) => state === 'fault')).toMatchObject([
    { command: `ledgerlake backup ${copy} --lake ${lake}` },
  ]);
});

test('data files that are missing or cut off are faults, with the command that mends them', async () => {
  const { folder, lake } = await setUp();
  const inTable = async (table: string) => {
    const names = await readdir(join(lake, table), { recursive: true });
    return join(lake, table, names.find((name) => name.endsWith('.parquet')) ?? '');
  };
  await rm(await inTable('events'));
  await writeFile(await inTable('group_entries'), 'cut');
  const report = await examineIn(folder);
  expect(report.state).toBe('fault');
  expect(report.findings.filter(({ state }) => state !== 'ok')).toMatchObject([
    {
      found: expect.stringMatching(/^events\/account=shop\/month=\S+\.parquet: it is missing$/) as string,
      command: expect.stringContaining('backfill financial-events') as string,
    },
    {
      found: expect.stringMatching(
        /^group_entries\/account=shop\/\S+\.parquet: it has 3 bytes instead of \d+$/,
      ) as string,
      command: expect.stringContaining('ledgerlake rebuild') as string,
    },
  ]);
});

test.each(['_catalog/00000000000000000001.json', 'events/_delta_log/00000000000000000001.json'])(
  '%s that was changed is a fault, with the command that repairs it',
  async (changed) => {
    const { folder, lake } = await setUp();
    await writeFile(join(lake, changed), '{}');
    const finding = only(await examineIn(folder), 'lake');
    const command = expect.stringMatching(/^ledgerlake repair --lake \S+\/lake --config \S+c\.json$/) as string;
    expect(finding).toMatchObject({ state: 'fault', command });
    expect(finding.found).toContain(changed);
  },
);

test('a checkpoint that was changed is one fault, and names it once', async () => {
  const { folder, lake } = await setUp();
  const catalog = await Catalog.open(diskStore(lake), { clock: systemClock, random: () => 'x', knownTables: [] });
  await catalog.writeCheckpoint();
  const names = await readdir(join(lake, '_catalog/_checkpoints'));
  const newest = join('_catalog/_checkpoints', names.toSorted().at(-1) ?? '');
  await writeFile(join(lake, newest), 'changed');
  const finding = only(await examineIn(folder), 'lake');
  expect(finding).toMatchObject({ state: 'fault', command: expect.stringContaining('ledgerlake repair') as string });
  expect(finding.found.split(newest)).toHaveLength(2);
});

test('the operations of custom pipelines that the lake has are requested, with the credentials of the account', async () => {
  const folder = await temporaryFolder();
  const lake = join(folder, 'lake');
  const { url, asked } = await exampleServer(stripeAnswer);
  const variables = { STRIPE_URL: url, STRIPE_KEY_MY_SHOP: 'sk_of_my_shop' };
  await exampleLoaded('stripe-balance', { lake, ...january, environment: variables });
  asked.length = 0;
  await writeFile(join(folder, 'c.json'), '{}');
  const texts = { lake, pipelines: resolve('examples/pipelines'), 'max-lag': '10000d' };
  const environment = { ...variables, LEDGERLAKE_ACCOUNT: 'my-shop' };
  const { findings } = await examineIn(folder, { texts, environment });
  expect(asked).toHaveLength(1);
  expect(findings.filter(({ group }) => group === 'credentials')).toMatchObject([
    { state: 'ok', found: `my-shop: ${url} answered stripe-balance` },
  ]);
  expect(findings.map(({ found }) => found)).toContainEqual(
    expect.stringMatching(/examples\/pipelines has valid definitions of pipelines: .*stripe-balance/),
  );
  const wrong = await examineIn(folder, {
    texts,
    environment: { ...environment, STRIPE_KEY_MY_SHOP: 'sk_of_another' },
  });
  expect(only(wrong, 'credentials')).toMatchObject({
    account: 'my-shop',
    state: 'fault',
    found: expect.stringMatching(/^my-shop: stripe-balance got status 401: bad key/) as string,
  });
  await writeFile(join(folder, 'broken.mjs'), 'export default {}');
  const broken = await examineIn(folder, { texts: { ...texts, pipelines: folder }, environment });
  expect(only(broken, 'configuration').found).toMatch(/broken\.mjs/);
});

test.each([
  [
    { minReaderVersion: 2, minWriterVersion: 2 },
    /^fault lake: .* reader version 1 at most .*, got 2: a newer program has/,
  ],
  [
    { minReaderVersion: 1, minWriterVersion: 2 },
    /^fault versions: .* writer version 2, .*; install the newer program$/,
  ],
])('a lake of a newer program, with %j, is a fault that says so', async (versions, fault) => {
  const { folder, lake } = await setUp();
  const { snapshot, store } = await Lake.open(diskStore(lake), tables, systemClock);
  const { version, hash, at } = snapshot.state;
  const header = { version: version + 1, previous: hash, at, run: '0-x', nonce: 'x', operation: 'WRITE', ...versions };
  await store.create(commitPath(version + 1), sealCommit(canonicalCommit(header, { fence: { runs: ['1-y'] } })).bytes);
  expect(troubles(await examineIn(folder))).toEqual([expect.stringMatching(fault)]);
});

test('gaps, and data that is too old, are faults with the one command that loads them', async () => {
  const folder = await temporaryFolder();
  const lake = join(folder, 'lake');
  const endpoint = await serving({ backend, clock: systemClock });
  for (const [from, to] of [
    [30, 28],
    [20, 5],
  ] as const) {
    const range = { from: daysAgo(from), to: daysAgo(to) };
    await ran({ lake, endpoint, account: 'shop', pipelines: ['financial-events'], ...range }, { clock: systemClock });
  }
  await writeFile(join(folder, 'c.json'), JSON.stringify({ settings: { lake }, accounts: { shop: { endpoint } } }));
  const old = await examineIn(folder, { texts: { 'max-lag': '9d' } });
  expect(troubles(old)).toEqual([
    expect.stringMatching(/^fault lake: shop: .*at most 9 d old, it is 2\d d/),
    expect.stringMatching(/^fault lake: shop: financial-events has gaps \(\d+ of \d+ days loaded, \d+ missing\)$/),
  ]);
  // One command for both.
  const commands = old.findings.filter(({ state }) => state === 'fault').map(({ command }) => command ?? '');
  const backfill = expect.stringMatching(
    new RegExp(`^ledgerlake backfill financial-events .*--account shop .*--from ${daysAgo(28).slice(0, 10)}`),
  ) as string;
  expect(commands).toEqual([backfill, backfill]);
  expect(new Set(commands).size).toBe(1);
  const allowed = await examineIn(folder, { texts: { 'max-lag': '40d' } });
  expect(troubles(allowed)).toHaveLength(1);
});

test('events that could not be read are warnings, ten of them, with the command that reads them again', async () => {
  const folder = await temporaryFolder();
  const broken = `{"PostedDate":"${daysAgo(1)}","AdjustmentType":"5" wide"}`;
  const whole = `{"PostedDate":"${daysAgo(1)}","AdjustmentType":"wide"}`;
  const server = createServer((_, response) => {
    response.end(
      `{"payload":{"FinancialEvents":{"AdjustmentEventList":[${Array(12).fill(`${broken},${whole}`).join(',')}]}}}`,
    );
  });
  const shop = { endpoint: await listening(server), account: 'shop', lake: join(folder, 'lake') };
  const loaded = ran({ ...shop, pipelines: ['financial-events'], from: daysAgo(2) }, { clock: systemClock });
  await expect(loaded).rejects.toMatchObject({ code: 'HOLES' });
  await writeFile(join(folder, 'c.json'), '{}');
  const { findings } = await examineIn(folder, { texts: { lake: shop.lake } });
  const holes = findings.filter(({ found }) => found.startsWith('shop: could not be read'));
  const [hole] = holes;
  expect([holes.length, holes.at(-1)?.found]).toEqual([11, 'shop: could not be read: 14 more; status lists them']);
  expect(new Set(holes.map(({ found }) => found)).size).toBe(11);
  expect(hole).toMatchObject({ group: 'lake', state: 'warning' });
  expect(hole?.found).toMatch(
    /^shop: could not be read: financial-events window\/\S+: page 1, byte \d+, request id none/,
  );
  expect(hole?.command).toMatch(/^ledgerlake backfill financial-events .*--account shop .*--refresh$/);
});

test('an invalid configuration is a fault of its own; what is misspelt is a warning', async () => {
  const { folder, lake } = await setUp();
  await writeFile(join(folder, 'c.json'), '{"settings":{"lakee":"lake"}}');
  const environment = { LEDGERLAKE_LAK: lake, LEDGERLAKE_LAKE: lake, LEDGERLAKE_RATE: 'fast' };
  const report = await examineIn(folder, { environment });
  const missing = /^fault lake: expected a lake at data\/lake, got none/;
  expect(troubles(await examineIn(folder, { environment, texts: { 'max-lag': '2d' } })).at(-1)).toMatch(missing);
  expect(troubles(report)).toEqual([
    expect.stringMatching(/^fault configuration: .*c\.json: settings: .*got "lakee"; did you mean lake\?/),
    expect.stringMatching(/^fault configuration: expected LEDGERLAKE_RATE to be a number/),
    'warning configuration: the variable LEDGERLAKE_LAK is not read; did you mean LEDGERLAKE_LAKE?',
    expect.stringMatching(/^warning credentials: no account is examined, as the configuration is invalid/),
    expect.stringMatching(
      /^warning lake: expected a lake at data\/lake, got none; check --lake and whether its disk is mounted, or load one with `ledgerlake backfill --lake data\/lake/,
    ),
  ]);
});

test('a metrics file that a run cannot write is a fault, which names its setting', async () => {
  const { folder } = await setUp();
  const file = join(folder, 'c.json');
  const configuration = JSON.parse(await readFile(file, 'utf8')) as { settings: object };
  const settings = { ...configuration.settings, metricsFile: 'nowhere/{account}.prom' };
  await writeFile(file, JSON.stringify({ ...configuration, settings }));
  const metrics = join(folder, 'nowhere', 'shop.prom');
  expect(troubles(await examineIn(folder))).toEqual([
    `fault configuration: expected \`metricsFile\` of ${file} in a folder that exists, got ${metrics}; create ${join(folder, 'nowhere')}`,
  ]);
});

/** A clock on which everybody sleeps for a twentieth of the time. */
const hastyClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => systemClock.sleep(ms / 20, signal),
};

test('a service that does not answer is given up after the limit, and the rest is examined', async () => {
  const { folder } = await setUp({ faults: { 'no-answer': { share: 1 } } });
  const report = await examineIn(folder, { clock: hastyClock });
  expect(troubles(report)).toEqual([
    expect.stringMatching(/^fault credentials: shop: expected an answer within 20 s, got none\. The same of /),
  ]);
});

test('where runs have used up a quota, nothing is requested', async () => {
  const { folder, lake, tokens } = await setUp();
  await writeFile(
    join(folder, 'c.json'),
    (await readFile(join(folder, 'c.json'), 'utf8')).replace('"rate":1000,"burst":1000', '"rate":0.5,"burst":30'),
  );
  const first = await examineIn(folder);
  expect(first.state).toBe('ok');
  // It has no state to note: no run has kept one.
  expect(await readdir(lake)).not.toContain('_journal');
  await mkdir(join(lake, '_journal/shop'), { recursive: true });
  await examineIn(folder);
  const [quota = ''] = await readdir(join(lake, '_journal/shop'));
  const file = join(lake, '_journal/shop', quota);
  const levels = JSON.parse(await readFile(file, 'utf8')) as Readonly<Record<string, number>>;
  expect(Object.keys(levels).toSorted()).toEqual([
    'ListFinancialEventGroups',
    'ListFinancialEvents',
    'ListFinancialEventsByGroupId',
  ]);
  const later = Object.fromEntries(Object.keys(levels).map((name) => [name, Date.now() + 30_000_000]));
  await writeFile(file, JSON.stringify(later));
  const report = await examineIn(folder, { clock: hastyClock });
  expect(troubles(report)).toEqual([
    'warning credentials: shop: ListFinancialEventGroups, ListFinancialEvents, ListFinancialEventsByGroupId not requested, as a run has used up the quota; try again later',
  ]);
  expect(tokens.asked).toHaveLength(3);
});

test('S3: the store is examined, and nothing stays; one that ignores conditions is a fault', async () => {
  const server = await servedBucket();
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'c.json'), '{"settings":{"lake":"s3://bucket/lake","cache":"cache"}}');
  const environment = server.environment;
  const well = await examineIn(folder, { environment });
  expect(troubles(well)).toEqual([
    expect.stringMatching(
      /^warning lake: expected a lake at s3:\/\/bucket\/lake, got none; check --lake, or load one with /,
    ),
  ]);
  expect(well.findings).toContainEqual(
    expect.objectContaining({ group: 'clock', found: 'equal to those of the services, to 1 s' }),
  );
  server.oddity = 'condition-ignored';
  const store = only(await examineIn(folder, { environment }), 'store');
  expect(store).toMatchObject({ state: 'fault' });
  expect(store.found).toMatch(/to refuse a PUT with `If-None-Match: \*` .*; use a service that honours the condition/);
  expect([...server.bucket('bucket').objects.keys()]).toEqual([]);
});

test('as a table, as rows, and as an exit code', async () => {
  const { folder } = await setUp({ answer: () => ({ status: 401, body: '{"error":"invalid_client"}' }) });
  const written = async (format: 'table' | 'csv') => {
    const output = new PassThrough();
    const examination = {
      texts: { config: join(folder, 'c.json') },
      environment: {},
      workingFolder: folder,
      account: undefined,
    };
    const context = { clock: systemClock, signal: new AbortController().signal, emit: () => undefined, output };
    const code = await doctor({ ...examination, format, color: false }, context);
    output.end();
    return { code, out: await text(output) };
  };
  const table = await written('table');
  expect(table.code).toBe(1);
  expect(table.out).toMatch(/^configuration\n {2}ok {7}\S.*\ncredentials\n {2}fault {4}/);
  expect(table.out).toMatch(/\n1 fault to mend; 0 warnings, \d+ ok\n$/);
  expect((await written('csv')).out).toMatch(/^group,account,state,found,command\n(.*\n)*credentials,shop,fault,/);
});

test('the command examines a configuration that is invalid, and warns once', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'ledgerlake.config.json'), '{"acounts":{}}');
  const ended = await builtCommand(['doctor', '--json'], { folder, environment: { LEDGERLAKE_LAK: 'lake' } });
  expect(ended).toMatchObject({ code: 1, err: '' });
  expect(troubles(JSON.parse(ended.out) as DoctorReport)).toEqual([
    expect.stringMatching(/^fault configuration: .*"acounts"; did you mean accounts\?/),
    expect.stringMatching(/^warning configuration: the variable LEDGERLAKE_LAK is not read/),
    expect.stringMatching(/^warning credentials: /),
    expect.stringMatching(
      /^warning lake: expected a lake at data\/lake, got none; check --lake and whether its disk is mounted, or load one with `ledgerlake backfill --lake data\/lake/,
    ),
  ]);
  const refused = await builtCommand(['doctor', '--max-lag', 'soon'], { folder });
  expect(refused).toMatchObject({ code: 2, out: '' });
  await rm(join(folder, 'ledgerlake.config.json'));
  const nobody = await builtCommand(['doctor', '--endpoint', 'http://127.0.0.1:1'], { folder });
  expect(nobody).toMatchObject({
    code: 2,
    err: expect.stringContaining('expected --account with --endpoint') as string,
  });
});

test('is stopped by its signal', async () => {
  const { folder } = await setUp();
  const stopped = new AbortController();
  stopped.abort(new Error('enough'));
  const examination = {
    texts: { config: join(folder, 'c.json') },
    environment: {},
    workingFolder: folder,
    account: undefined,
  };
  await expect(
    examine(examination, { clock: clockAt('2026-01-01T00:00:00Z'), signal: stopped.signal, emit: () => undefined }),
  ).rejects.toThrow('enough');
});
