import { expect, test } from 'vitest';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../app/lake-run.js';
import { childRun } from '../../engine/run/child-run.js';
import { rowOf } from './custom-run.js';
import { parcelServer, shipmentsOf, token } from './parcel-server.js';

const perDay = 12;

test('a run that is killed is gone on with: no window and no page is asked for twice', async () => {
  const lake = join(await temporaryFolder(), 'lake');
  const server = await parcelServer(shipmentsOf('2025-01-15T00:00:00Z', 100, perDay));
  const words = [
    'backfill',
    'shipments',
    '--pipelines',
    'test/sources/custom/pipelines',
    '--lake',
    lake,
    '--account',
    'depot',
  ];
  const run = (range: readonly string[], url: string) =>
    childRun([...words, ...range], { environment: { PARCELS_URL: url, PARCELS_TOKEN: token } });
  const start = () => run(['--from', '2025-01-20', '--to', '2025-04-20'], server.url);
  // January is read to its end; of the other windows a page each, until January is in the lake.
  const answered: string[] = [];
  const commit = join(lake, `shipments/_delta_log/${'0'.repeat(20)}.json`);
  server.hold = (request) => {
    const cursor = new URL(request, server.url).searchParams.get('cursor');
    const isFree = cursor === null || Buffer.from(cursor, 'base64url').includes('2025-01-20');
    if (isFree && !existsSync(commit)) {
      answered.push(request);
      return undefined;
    }
    return new Promise(() => undefined);
  };
  const first = start();
  const watch = setInterval(() => {
    if (existsSync(commit)) first.process.kill('SIGKILL');
  }, 10);
  expect((await first.ended).signal).toBe('SIGKILL');
  clearInterval(watch);
  expect(answered.length).toBeGreaterThan(3);

  // A run of the same pipeline at another address leaves the pages alone when it has come to its end.
  const elsewhere = await parcelServer(shipmentsOf('2025-05-01T00:00:00Z', 2, perDay));
  const other = await run(['--from', '2025-05-01', '--to', '2025-05-03'], elsewhere.url).ended;
  expect(other.code, other.errors).toBe(0);

  server.requests.length = 0;
  server.hold = () => undefined;
  const { code, errors } = await start().ended;
  expect(code, errors).toBe(0);
  expect(server.requests.length).toBeGreaterThan(0);
  expect(server.requests.filter((request) => answered.includes(request))).toEqual([]);
  const counted = await rowOf(lake, 'SELECT count(*) AS n, count(DISTINCT shipment_id) AS ids FROM shipments');
  expect(counted).toEqual({ n: BigInt(92 * perDay), ids: BigInt(92 * perDay) });
  expect(await readdir(join(lake, '_journal/depot/pages/shipments'))).toEqual([]);
});
