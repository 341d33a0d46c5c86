import { expect, test } from 'vitest';
import { openSync } from '../../src/app/fleet/account-jobs.js';
import { builtCommand } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';
import { fleetAt } from './fleet-at.js';
import { redisServer } from './redis-server.js';
import { expectWholeLakes, startSellers } from './sellers.js';
import { until, workerProcess } from './worker-process.js';

/** What others write among the jobs of an account. */
const foreignJobs: readonly (readonly [field: string, value: string])[] = [
  ['no json', '1'],
  ['null', '1'],
  ['{"work":"delete"}', '1'],
  // Not as `add` writes them, so that `remove` would not find them.
  ['{"work": "sync"}', '1'],
  ['{"work":"sync","more":1}', '1'],
  ['{"from":null,"to":null,"work":"backfill"}', '1'],
  ['{"work":"backfill","from":"--lake","to":null}', '1'],
  ['{"work":"backfill","from":{"a":1},"to":null}', '1'],
  ['{"work":"sync"}', 'soon'],
];

test('what is no job or no turn is ignored with a line, and the jobs beside it are done', async () => {
  const redis = await redisServer();
  const sellers = await startSellers({ count: 2 });
  const fleet = await fleetAt(redis.url);
  const [shop = '', other = ''] = sellers.names;
  for (const [field, value] of foreignJobs) await fleet.redis.hset(fleet.keys.jobs(shop), field, value);
  for (const state of ['NaN', '-Infinity', 'soon', '9e300']) {
    await fleet.redis.hset(fleet.keys.quota(shop), `quota-x ${state}`, state);
  }
  const ofQueue = (queue: string, id: string) => `${fleet.keys.prefix}:${queue}:${id}`;
  // Turns that nobody has added, and one under the name of an account.
  for (const [id, data] of [
    ['7', '{"account":"../../etc","standing":{},"isOpen":1,"dueAt":"x"}'],
    ['8', '[]'],
    [`account-${other}`, '{"account":"shop-000","standing":{"servedMs":0,"failures":0},"isOpen":false,"dueAt":1}'],
  ] as const) {
    const job = { name: 'turn', data, opts: '{"attempts":99}', timestamp: '1', delay: '0', priority: '0' };
    await fleet.redis.hset(ofQueue('turns', id), job);
    await fleet.redis.rpush(ofQueue('turns', 'wait'), id);
  }
  const { code: statusCode, err: statusErr } = await builtCommand(['enqueue', 'status', '--config', sellers.config], {
    folder: await temporaryFolder(),
    environment: { REDIS_URL: redis.url },
  });
  expect([statusCode, statusErr.includes('which is not run')]).toEqual([0, true]);

  const worker = workerProcess(sellers.config, redis.url);
  for (const name of sellers.names) {
    await fleet.enqueue(name, { work: 'backfill', from: sellers.from, to: sellers.to }, Date.now());
  }
  const isDone = async (): Promise<boolean> => {
    const jobs = await Promise.all(sellers.names.map((name) => fleet.jobs.of(name)));
    return jobs.flat().length === 0;
  };
  await until('the jobs to be done', isDone);
  await until('a line for each', () => {
    const reasons = worker.emitted.map((event) => ('reason' in event ? String(event.reason) : ''));
    const ignored = reasons.filter((reason) => reason.startsWith('expected jobs of an account in'));
    return (
      new Set(ignored).size === new Set(foreignJobs.map(([field]) => field)).size &&
      ignored.length === foreignJobs.length
    );
  });
  worker.run.process.kill('SIGTERM');
  expect(await worker.run.ended).toMatchObject({ code: 0 });
  // Nobody has done them, and nobody has deleted them.
  expect(Object.keys(await fleet.redis.hgetall(fleet.keys.jobs(shop))).toSorted()).toEqual(
    foreignJobs.map(([field]) => field).toSorted(),
  );
  await fleet.close();
  await expectWholeLakes(sellers);
});

test('a sync skips nothing that others say was read', async () => {
  const redis = await redisServer();
  const fleet = await fleetAt(redis.url);
  const key = fleet.keys.sync('shop');
  const now = Date.now();
  const warned: string[] = [];
  const opened = (secret: string, at = now, account = 'shop') =>
    openSync(fleet.redis, fleet.keys, {
      account,
      requested: { job: { work: 'sync' }, requestedAt: now - 5 },
      now: at,
      secret,
      warn: (reason) => warned.push(reason),
    });
  const first = await opened('of the workers');
  await first.read('financial-events', ['2026-01-01', '2026-01-02']);
  // The next turn, on any worker, goes on.
  const second = await opened('of the workers', now + 60_000);
  expect([second.began, second.pending.requestedAt]).toEqual([now, now - 5]);
  expect(second.wasRead('financial-events', '2026-01-01')).toBe(true);
  expect(second.wasRead('financial-events', '2026-01-03')).toBe(false);
  expect(warned).toEqual([]);
  // Somebody adds what was not read.
  const known = await fleet.redis.hgetall(key);
  const code = known[`${now} financial-events 2026-01-01`] ?? '';
  for (const value of ['', code]) {
    await fleet.redis.hset(key, { [`${now} financial-events 2026-01-03`]: value });
    expect((await opened('of the workers')).wasRead('financial-events', '2026-01-03')).toBe(false);
  }
  // Somebody writes a whole state, or that of another account.
  for (const seeded of [
    { began: String(now), asked: String(now), [`${now} financial-events 2026-01-03`]: '' },
    { began: 'x' },
    { began: String(now + 1e9), asked: String(now), code },
    { ...(await fleet.redis.hgetall(key)), began: String(now - 1) },
  ]) {
    await fleet.redis.del(key);
    await fleet.redis.hset(key, seeded);
    warned.length = 0;
    const sync = await opened('of the workers', now + 1);
    expect([sync.began, sync.pending.requestedAt]).toEqual([now + 1, now - 5]);
    expect(sync.wasRead('financial-events', '2026-01-03')).toBe(false);
    expect(warned).toEqual([expect.stringContaining('which is ignored: the sync starts again')]);
  }
  await (await opened('of the workers', now, 'other')).read('financial-events', ['2026-01-03']);
  await fleet.redis.del(key);
  await fleet.redis.hset(key, await fleet.redis.hgetall(fleet.keys.sync('other')));
  expect((await opened('of the workers')).wasRead('financial-events', '2026-01-03')).toBe(false);
  await fleet.close();
});

test('the sync of an account is not due where the account is not configured', async () => {
  const redis = await redisServer();
  const sellers = await startSellers({ count: 1 });
  const fleet = await fleetAt(redis.url);
  await fleet.queue.setNight('unknown', '* * * * * *');
  await fleet.queue.setNight('shop-000', '* * * * * *');
  const worker = workerProcess(sellers.config, redis.url);
  await until('a sync of the account', () => worker.ended().some(({ account }) => account === 'shop-000'));
  expect(await fleet.jobs.of('unknown')).toEqual([]);
  expect(worker.ended().every(({ account }) => account === 'shop-000')).toBe(true);
  await fleet.close();
});
