import { expect, test } from 'vitest';
import { fleetAt, isEmpty } from './fleet-at.js';
import { redisServer } from './redis-server.js';
import { askedAgain, expectWholeLakes, daysAgo, startSellers, throttled } from './sellers.js';
import { until, workerProcess } from './worker-process.js';

test('a huge account lets a small one have its turn, and a nightly sync comes when it is due', async () => {
  const redis = await redisServer();
  const sellers = await startSellers({ count: 2, events: 6000, quota: { rate: 1, burst: 3 } });
  const fleet = await fleetAt(redis.url);
  await fleet.enqueue('shop-000', { work: 'backfill', from: sellers.from, to: sellers.to }, Date.now());
  const worker = workerProcess(sellers.config, redis.url, '--concurrency', '1', '--turn', '1s');
  await until('pages under way', () => (sellers.times.get('shop-000')?.length ?? 0) > 2);
  await fleet.queue.setNight('shop-001', '* * * * * *');
  const begun = () => worker.emitted.filter(({ event }) => event === 'turn-started');
  await until('its sync', () => begun().length > 1);
  await fleet.queue.setNight('shop-001', undefined);
  expect(worker.ended()[0]).toMatchObject({
    account: 'shop-000',
    end: 'over',
    next: 'again',
    reason: 'another account has priority',
  });
  expect(begun()[1]).toMatchObject({ account: 'shop-001', work: 'sync' });
  await fleet.close();
});

test('a large first sync gives its place back after each turn, and goes on where it left off', async () => {
  const redis = await redisServer();
  const sellers = await startSellers({ count: 3, events: 300, quota: { rate: 2, burst: 3 } });
  const [huge = '', ...others] = sellers.names;
  const fleet = await fleetAt(redis.url);
  await fleet.enqueue(huge, { work: 'sync' }, Date.now());
  const worker = workerProcess(sellers.config, redis.url, '--concurrency', '1', '--turn', '5s');
  const turnsOf = (account: string) => worker.ended().filter((turn) => turn.account === account);
  await until('pages under way', () => (sellers.times.get(huge)?.length ?? 0) > 2);
  for (const name of others) await fleet.enqueue(name, { work: 'sync' }, Date.now());
  await until('an empty queue', () => isEmpty(fleet, sellers.names));
  await fleet.close();

  const cut = turnsOf(huge);
  expect(cut[0]).toMatchObject({ work: 'sync', end: 'over', reason: 'another account has priority' });
  expect(cut.at(-1)).toMatchObject({ work: 'sync', end: 'done', next: 'rest' });
  // All of them gave way to each other, and none asked for a page twice.
  const order = worker.ended().map(({ account }) => account);
  for (const name of others) expect(order.indexOf(name)).toBeLessThan(order.lastIndexOf(huge));
  for (const name of sellers.names) expect(askedAgain(sellers, name), name).toBe(0);
  expect(throttled(sellers)).toBe(0);
  // What a sync loads are 90 days and what there is of today, which no window of the range ends in.
  await expectWholeLakes({ ...sellers, from: daysAgo(90), to: daysAgo(0) });
});
