import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repair } from '../../../src/app/repair/repair.js';
import { compact } from '../../../src/app/maintenance/compact-lake.js';
import { forget } from '../../../src/app/forget/forget.js';
import { plan } from '../../../src/app/plan/plan.js';
import { status } from '../../../src/app/status/status.js';
import { fileHashes, temporaryFolder } from '../../app/lake-run.js';
import { Kept } from '../../core/text/streams.js';
import { synced } from '../../app/load/synced.js';
import { verify } from '../../../src/app/verify/verify.js';
import { verified } from '../../app/verify/verified.js';
import { loaded, ownClock, rowOf, shipmentsFrom } from './custom-run.js';
import { parcelServer, shipmentAt, shipmentsOf } from './parcel-server.js';

const perDay = 8;
const clock = ownClock();

function quietly() {
  const confirm = undefined;
  const output = new Kept();
  const signal = new AbortController().signal;
  const silent = () => undefined;
  return { clock, signal, output, confirm, print: silent, emit: silent };
}

async function loadedTwice() {
  const lake = await temporaryFolder();
  const server = await parcelServer(shipmentsOf('2025-01-15T00:00:00Z', 30, perDay));
  const own = shipmentsFrom(server);
  for (const from of ['2025-01-27', '2025-01-20']) await loaded(own, { lake, from, to: '2025-02-03' });
  server.requests.length = 0;
  return { lake, server, own };
}

const isWhole = { code: 0, verdict: 'whole', problems: [] };

test('status tells what is loaded of a pipeline of one’s own, and how to load the rest', async () => {
  const { lake } = await loadedTwice();
  const shown = quietly();
  const asked = { lake, account: undefined, from: undefined, to: '2025-02-05', color: false } as const;
  await status({ ...asked, format: 'table' }, shown);
  expect(shown.output.text).toContain('shipments: 3 windows, 14 of 16 days loaded, 2 missing');
  expect(shown.output.text).toMatch(/ backfill shipments .* --from 2025-02-03 --to 2025-02-05\nbeside the --pipelines/);
  expect(shown.output.text).not.toContain('financial');
  const told = quietly();
  await status({ ...asked, format: 'json', pipelineFolder: 'mine' }, told);
  expect(JSON.parse(told.output.text)).toMatchObject({
    accounts: [{ command: expect.stringContaining(' --pipelines mine ') as string, not_loaded: [] }],
  });
});

test('verify counts and hashes a table of one’s own, and finds what was changed in it', async () => {
  const { lake } = await loadedTwice();
  const whole = await verified({ root: lake, clock });
  expect(whole).toMatchObject(isWhole);
  const rows = 14 * perDay;
  const counts = Object.fromEntries(whole.checks.map(({ check, checked }) => [check, checked]));
  expect(counts).toMatchObject({ 'row-counts': rows, positions: rows, 'event-ids': rows, windows: 3, 'file-bytes': 3 });
  const { output, ...context } = quietly();
  await verify({ lake, account: undefined, format: 'table', strict: false }, { ...context, output });
  expect(output.text).toContain(`has exactly what was read (3 files, ${rows} rows)`);
});

test('compact merges it, a refresh parts what was merged, and what is the same writes nothing', async () => {
  const { lake, server, own } = await loadedTwice();
  await compact({ lake, pipelines: ['shipments'], account: undefined }, quietly());
  expect([...(await fileHashes(lake)).keys()].filter((path) => path.includes('month=2025-01'))).toHaveLength(1);
  expect(await verified({ root: lake, clock })).toMatchObject(isWhole);

  server.shipments = [...server.shipments, shipmentAt(5000, '2025-01-24T12:00:00.000Z')];
  const day = { lake, refresh: true, from: '2025-01-23', to: '2025-01-24' };
  await loaded(own, day);
  expect(server.requests.length).toBeGreaterThan(0);
  const late = "SELECT count(*) FILTER (shipment_id = 'S-005000') AS late, count(*) AS n FROM shipments";
  expect(await rowOf(lake, late)).toEqual({ late: 1n, n: BigInt(14 * perDay + 1) });
  expect(await verified({ root: lake, clock })).toMatchObject(isWhole);

  await compact({ lake, pipelines: [], account: 'depot' }, quietly());
  const held = await fileHashes(lake);
  await loaded(own, day);
  expect(await fileHashes(lake)).toEqual(held);
});

test('forget takes it by whole windows, and keeps what describes the table', async () => {
  const { lake } = await loadedTwice();
  await forget({ lake, account: 'depot', before: '2025-01-29', yes: true }, quietly());
  expect(await rowOf(lake, 'SELECT count(*) AS n, min(window_start)::DATE AS first FROM shipments')).toMatchObject({
    n: BigInt(7 * perDay),
  });
  expect(await verified({ root: lake, clock })).toMatchObject(isWhole);
  await forget({ lake, account: 'depot', before: undefined, yes: true }, quietly());
  expect(await rowOf(lake, 'SELECT count(*) AS n FROM shipments')).toEqual({ n: 0n });
});

test('a plan tells the requests that the backfill then needs', async () => {
  const { lake, server, own } = await loadedTwice();
  const asked = {
    lake,
    pipelines: ['shipments'],
    account: 'depot',
    customPipelines: [own],
    from: '2025-01-15',
    to: '2025-02-14',
  };
  const shown = quietly();
  const rest = { endpoint: undefined, orders: undefined, rate: 0.5, burst: 30, refresh: false, probe: false } as const;
  await plan({ ...asked, ...rest, format: 'json' }, shown);
  expect(server.requests).toEqual([]);
  const planned = JSON.parse(shown.output.text) as { known: boolean; requests: number };
  await loaded(own, { lake, from: '2025-01-15', to: '2025-02-14' });
  expect(server.requests.length).toBeGreaterThan(1);
  expect([planned.known, Math.abs(planned.requests - server.requests.length)]).toEqual([true, 0]);
});

test('a nightly run loads what is new and looks back', async () => {
  const { lake, server, own } = await loadedTwice();
  const nightly = { lake, pipelines: ['shipments'], account: 'depot', customPipelines: [own], maxLag: '1h' };
  const first = await synced(nightly, { clock });
  expect([first.failure, first.summary.changes]).toEqual([undefined, {}]);
  expect(first.printed).toContain('Nothing has changed in what was read again');
  const all = server.shipments.filter(({ shippedAt }) => shippedAt >= '2025-01-20').length;
  expect(await rowOf(lake, 'SELECT count(*) AS n FROM shipments')).toEqual({ n: BigInt(all) });
  server.requests.length = 0;
  server.shipments = [...server.shipments, shipmentAt(7000, '2025-02-27T12:00:00.000Z')];
  const second = await synced(nightly, { clock });
  expect(second.failure).toBeUndefined();
  expect(second.summary.changes).toMatchObject({ shipments: { appeared: 1, vanished: 0, slices: [{}] } });
  expect(second.printed).not.toContain('Nothing has changed');
  expect(server.requests.length).toBeLessThan(5);
  expect(await rowOf(lake, 'SELECT count(*) AS n FROM shipments')).toEqual({ n: BigInt(all + 1) });
});

test('repair restores a table of one’s own with its description from its publication', async () => {
  const { lake } = await loadedTwice();
  const hash = 'SELECT count(*) AS rows, bit_xor(hash(of)) AS hash FROM shipments AS of';
  const before = await rowOf(lake, hash);
  expect(await readdir(lake)).not.toContain('_pipelines');
  const folder = join(lake, '_catalog');
  const commits = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  const bytes = await Promise.all(commits.map((name) => readFile(join(folder, name), 'utf8')));
  await rm(folder, { recursive: true });
  await expect(rowOf(lake, hash)).rejects.toMatchObject({ code: 'LAKE_LOG' });
  expect((await repair({ lake, yes: true }, quietly())).summary).toMatchObject({ status: 'done' });
  expect(await Promise.all(commits.map((name) => readFile(join(folder, name), 'utf8')))).toEqual(bytes);
  expect(await rowOf(lake, hash)).toEqual(before);
  expect(await verified({ root: lake, clock })).toMatchObject(isWhole);
});
