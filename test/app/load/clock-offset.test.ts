import { expect, test } from 'vitest';
import { status } from '../../../src/app/status/status.js';
import { Kept } from '../../core/text/streams.js';
import { arrayBackend } from '../../serve/http/array-backend.js';
import { serving, temporaryFolder } from '../lake-run.js';
import { shipment } from './backend-items.js';
import { setClock, synced, type SetClock } from './synced.js';

async function shop(serviceClock: SetClock) {
  const items = [shipment('2026-03-17T12:00:00Z', 'order-17'), shipment('2026-03-19T12:00:00Z', 'order-19')];
  const endpoint = await serving({ backend: arrayBackend(items), clock: serviceClock });
  return { lake: await temporaryFolder(), endpoint, account: 'shop', pipelines: ['financial-events'] };
}

function statusOf(lake: string, clock: SetClock, maxLag: string) {
  const output = new Kept();
  const context = { clock, signal: new AbortController().signal, output, emit: () => undefined };
  const given = { lake, account: undefined, from: undefined, to: undefined, format: 'json' as const, color: false };
  return status({ ...given, maxLag }, context).then(() => output.text);
}

test.each([
  ['slow', '2026-03-18T02:00:00Z', 'behind'],
  ['fast', '2026-03-22T02:00:00Z', 'ahead of'],
])('a clock that is %s by two days is warned of', async (_what, local, direction) => {
  const given = await shop(setClock('2026-03-20T02:00:00Z'));
  const { logged } = await synced(given, { clock: setClock(local) });
  const [begun, ...warnings] = logged.split('\n').filter((line) => line.includes('WARNING'));
  expect(begun).toContain(`WARNING: there is no lake at ${given.lake} yet`);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(`WARNING: this machine's clock is 2 d ${direction} the clock of the API; `);
});

test('with a slow clock the age of the lake is judged by the clock of the service, in the sync and later', async () => {
  const slow = setClock('2026-03-18T02:00:00Z');
  const given = await shop(setClock('2026-03-20T02:00:00Z'));
  await synced(given, { clock: slow });
  const late = await synced({ ...given, maxLag: '1d' }, { clock: slow });
  expect(late.failure).toMatchObject({ code: 'LAKE_LAG' });
  expect(late.summary.lag_seconds).toBeGreaterThan(2 * 86_400);
  await expect(statusOf(given.lake, slow, '1d')).rejects.toMatchObject({ code: 'LAKE_LAG' });
  expect(JSON.parse(await statusOf(given.lake, slow, '3d'))).toMatchObject({
    last_run: { clockOffsetSeconds: 172_800 },
  });
});

test('a clock that is right within five minutes is not mentioned', async () => {
  const clock = setClock('2026-03-20T02:00:00Z');
  const given = await shop(setClock('2026-03-20T02:04:30Z'));
  await synced(given, { clock });
  const { logged, failure } = await synced({ ...given, maxLag: '1d' }, { clock });
  expect([failure, logged.includes('clock')]).toEqual([undefined, false]);
  expect(JSON.parse(await statusOf(given.lake, clock, '1d'))).not.toHaveProperty('last_run.clockOffsetSeconds');
});
