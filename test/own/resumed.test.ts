import { expect, test } from 'vitest';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../commands/lake-run.js';
import { childRun } from '../run/child-run.js';
import { rowOf } from './own-run.js';
import { parcelService, shipmentsOf, token } from './parcel-service.js';

const perDay = 12;

test('a run that is killed is gone on with: no window and no page is asked for twice', async () => {
  const lake = join(await temporaryFolder(), 'lake');
  const service = await parcelService(shipmentsOf('2025-01-15T00:00:00Z', 100, perDay));
  const words = ['backfill', 'shipments', '--pipelines', 'test/own/pipelines', '--lake', lake, '--account', 'depot'];
  const start = () =>
    childRun([...words, '--from', '2025-01-20', '--to', '2025-04-20'], {
      environment: { PARCELS_URL: service.url, PARCELS_TOKEN: token },
    });
  const first = start();
  let killedAt = 0;
  service.strike = (_request, number) => {
    // One window is in the lake by then, and others are open.
    if (killedAt > 0 || !existsSync(join(lake, `shipments/_delta_log/${'0'.repeat(20)}.json`))) return undefined;
    killedAt = number;
    first.process.kill('SIGKILL');
    return undefined;
  };
  expect((await first.ended).signal).toBe('SIGKILL');
  // What came last may not have been written down any more.
  const received = service.requests.slice(0, killedAt - 2);

  service.requests.length = 0;
  service.strike = () => undefined;
  const { code, errors } = await start().ended;
  expect(code, errors).toBe(0);
  expect(service.requests.length).toBeGreaterThan(0);
  expect(service.requests.filter((request) => received.includes(request))).toEqual([]);
  const counted = await rowOf(lake, 'SELECT count(*) AS n, count(DISTINCT shipment_id) AS ids FROM shipments');
  expect(counted).toEqual({ n: BigInt(90 * perDay), ids: BigInt(90 * perDay) });
  expect(await readdir(join(lake, '_journal/depot/pages/shipments'))).toEqual([]);
});
