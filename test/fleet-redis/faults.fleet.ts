import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { jobProtocol } from '../../src/app/fleet/fleet.js';
import { connectRedis } from '../../src/app/fleet/redis.js';
import { builtCommand } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';
import { deadMan } from '../cli/dead-man.js';
import { authority } from '../core/connections/certificates.js';
import { tlsFront } from '../core/connections/proxy-server.js';
import { fleetAt, isEmpty } from './fleet-at.js';
import { redisServer } from './redis-server.js';
import { askedAgain, expectWholeLakes, startSellers, throttled } from './sellers.js';
import { until, workerProcess, type WorkerProcess } from './worker-process.js';

async function command(redisUrl: string, ...words: string[]) {
  return builtCommand(words, { folder: await temporaryFolder(), environment: { REDIS_URL: redisUrl } });
}

test('a Redis that evicts is refused, before anything is done', async () => {
  const redis = await redisServer(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru']);
  for (const words of [['worker'], ['enqueue']]) {
    const { code, out, err } = await command(redis.url, ...words);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^ledgerlake: QUEUE_UNFIT: expected maxmemory-policy noeviction .* got allkeys-lru, .*\n$/);
  }
});

test('a Redis without an append-only file is warned of', async () => {
  const redis = await redisServer([]);
  const { code, err } = await command(redis.url, 'enqueue', 'nightly');
  expect(code).toBe(0);
  expect(err).toContain('has no append-only file');
});

test('a fleet that another version has set up is left alone', async () => {
  const redis = await redisServer();
  const fleet = await fleetAt(redis.url);
  await fleet.redis.set(fleet.keys.protocol, String(jobProtocol + 1));
  await fleet.close();
  const { code, err } = await command(redis.url, 'worker');
  expect(code).toBe(2);
  expect(err).toMatch(/^ledgerlake: QUEUE_UNFIT: expected the fleet ledgerlake to have protocol \d+, got "\d+", .*\n$/);
  expect((await command(redis.url, 'enqueue', '--fleet', 'another')).code).toBe(0);
});

test('a wrong password is told without the right or the wrong one', async () => {
  const redis = await redisServer(['--requirepass', 'open-sesame']);
  const { code, err } = await command(redis.url.replace('//', '//:abracadabra@'), 'worker');
  expect(code).toBe(1);
  expect(err).toMatch(
    /^ledgerlake: QUEUE_UNREACHABLE: expected Redis or Valkey at redis:\/\/127\.0\.0\.1:\d+, got no connection .*\n$/,
  );
  expect(err).not.toMatch(/sesame|abracadabra/);
});

test('SIGTERM lets turns come to their end, and what is left goes to the next worker', async () => {
  const redis = await redisServer();
  // So many that neither is done once what is open is.
  const sellers = await startSellers({ count: 2, events: 6000, quota: { rate: 3, burst: 3 } });
  const fleet = await fleetAt(redis.url);
  for (const name of sellers.names) {
    await fleet.enqueue(name, { work: 'backfill', from: sellers.from, to: sellers.to }, Date.now());
  }
  const worker = workerProcess(sellers.config, redis.url, '--grace', '100s');
  const isUnderWay = (name: string): boolean => (sellers.times.get(name)?.length ?? 0) > 5;
  // On a busy machine one account would be done before the other has begun.
  let isHeld = true;
  for (const [name, server] of sellers.servers) {
    const { onRequest } = server;
    server.onRequest = () => {
      onRequest();
      server.slowness = isHeld && isUnderWay(name) ? 1000 : 100;
    };
  }
  await until('pages under way', () => sellers.names.every(isUnderWay));
  isHeld = false;
  worker.run.process.kill('SIGTERM');
  expect(await worker.run.ended).toMatchObject({ code: 0 });
  expect(worker.ended().map(({ end, next }) => [end, next])).toEqual([
    ['over', 'again'],
    ['over', 'again'],
  ]);
  expect((await fleet.queue.accounts(Date.now())).map(({ state }) => state)).toEqual(['waiting', 'waiting']);

  workerProcess(sellers.config, redis.url);
  await until('an empty queue', () => isEmpty(fleet, sellers.names));
  await fleet.close();
  await expectWholeLakes(sellers);
  expect(throttled(sellers)).toBe(0);
  for (const name of sellers.names) expect(askedAgain(sellers, name)).toBe(0);
});

test('a worker that was thought to be dead commits nothing any more', async () => {
  const redis = await redisServer();
  const sellers = await startSellers({ count: 1, events: 1500, quota: { rate: 3, burst: 3 } });
  const fleet = await fleetAt(redis.url);
  await fleet.enqueue('shop-000', { work: 'backfill', from: sellers.from, to: sellers.to }, Date.now());
  const frozen = workerProcess(sellers.config, redis.url);
  await until('pages under way', () => (sellers.times.get('shop-000')?.length ?? 0) > 5);
  frozen.run.process.kill('SIGSTOP');
  const other = workerProcess(sellers.config, redis.url);
  await until('another turn', () => other.open().has('shop-000') || other.ended().length > 0);
  frozen.run.process.kill('SIGCONT');
  const isOver = (worker: WorkerProcess) => () => worker.ended().length > 0;
  await until('the end of the first turn', isOver(frozen));
  expect(frozen.ended()[0]).toMatchObject({ end: 'lost', next: null });
  await until('an empty queue', () => isEmpty(fleet, sellers.names));
  await fleet.close();
  expect(other.ended().at(-1)).toMatchObject({ end: 'done' });
  await expectWholeLakes(sellers);
});

test('an account that leaves the configuration keeps what it was asked, and goes on once it is back', async () => {
  const redis = await redisServer();
  const { environment, posted } = await deadMan();
  const sellers = await startSellers({ count: 2, settings: { notify: environment.LEDGERLAKE_NOTIFY } });
  const fleet = await fleetAt(redis.url);
  for (const name of sellers.names) {
    await fleet.enqueue(name, { work: 'backfill', from: sellers.from, to: sellers.to }, Date.now());
    await fleet.queue.setNight(name, '0 0 3 * * *');
  }
  await sellers.configure(['shop-000']);
  workerProcess(sellers.config, redis.url);
  await until('one account', async () => {
    const all = await fleet.queue.accounts(Date.now());
    return all.length === 1 && all.every(({ state }) => state === 'dead');
  });
  const [dead, ...others] = await fleet.queue.accounts(Date.now());
  expect(others).toEqual([]);
  expect(dead).toMatchObject({ account: 'shop-001', state: 'dead' });
  expect(dead?.reason).toMatch(/^expected the account shop-001 in the configuration, .* enqueue retry shop-001/);
  await until('both jobs to be posted', () => posted.length === 2);
  expect(posted).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        command: 'worker',
        status: 'done',
        exit_code: 0,
        runs: [expect.objectContaining({ account: 'shop-000', status: 'done', from: `${sellers.from}T00:00:00.000Z` })],
      }),
      expect.objectContaining({
        command: 'worker',
        status: 'failed',
        exit_code: 1,
        runs: [{ account: 'shop-001', status: 'failed', error: { code: 'USAGE', message: dead?.reason } }],
      }),
    ]),
  );
  const words = ['--config', sellers.config];
  const nightly = await command(redis.url, 'enqueue', 'nightly', ...words);
  expect(nightly.err).toContain('no longer for shop-001');
  const status = await command(redis.url, 'enqueue', 'status', '--format', 'json', ...words);
  expect(status.code).toBe(1);
  expect(JSON.parse(status.out)).toEqual([
    expect.objectContaining({ account: 'shop-001', state: 'dead', asked: 'backfill', reason: dead?.reason }),
    expect.objectContaining({ account: 'shop-000', state: 'resting' }),
  ]);

  await sellers.configure(sellers.names);
  expect((await command(redis.url, 'enqueue', 'retry', ...words)).err).toContain('added another turn for 1 account');
  await until('an empty queue', () => isEmpty(fleet, sellers.names));
  await fleet.close();
  await expectWholeLakes(sellers);
});

test('a replica is refused', async () => {
  const primary = await redisServer();
  const replica = await redisServer(['--appendonly', 'yes', '--replicaof', '127.0.0.1', new URL(primary.url).port]);
  for (const words of [['worker'], ['enqueue']]) {
    const { code, err } = await command(replica.url, ...words);
    expect(code).toBe(2);
    expect(err).toMatch(/^ledgerlake: QUEUE_UNFIT: expected the Redis at .* to be a primary, got a replica, .*\n$/);
  }
});

test('a command to a server that has become read-only waits for the next primary', async () => {
  const redis = await redisServer();
  const events: string[] = [];
  const address = { url: redis.url, shown: redis.url };
  const { client, close } = await connectRedis(address, ({ event }) => events.push(event));
  onTestFinished(close);
  const other = await connectRedis(address, () => undefined);
  onTestFinished(other.close);
  await other.client.replicaof('127.0.0.1', '1');
  const written = client.set('key', 'value');
  await until('a lost connection', () => events.includes('queue-lost'));
  await other.client.replicaof('NO', 'ONE');
  expect(await written).toBe('OK');
  expect(await client.get('key')).toBe('value');
  expect(events.slice(0, 2)).toEqual(['queue-lost', 'queue-back']);
});

test('a cluster without a shard for the fleet is refused, and one of one shard is served', async () => {
  const redis = await redisServer(['--appendonly', 'yes', '--cluster-enabled', 'yes']);
  const refused = await command(redis.url, 'enqueue');
  const unfit = /^ledgerlake: QUEUE_UNFIT: expected a Redis without cluster mode at .*, or a cluster of one/;
  expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(unfit) as string });
  const { client, close } = await connectRedis({ url: redis.url, shown: redis.url }, () => undefined);
  onTestFinished(close);
  await client.cluster('ADDSLOTSRANGE', 0, 16_383);
  await until('a cluster', async () => (await client.cluster('INFO')).includes('cluster_state:ok'));
  expect((await command(redis.url, 'enqueue')).code).toBe(0);
});

test('a private certificate authority is named as what is missing, and is taken from NODE_EXTRA_CA_CERTS', async () => {
  const redis = await redisServer();
  const front = await tlsFront(Number(new URL(redis.url).port));
  const folder = await temporaryFolder();
  const file = join(folder, 'authority.pem');
  await writeFile(file, authority);
  const environment = { REDIS_URL: `rediss://127.0.0.1:${front.port}` };
  const refused = await builtCommand(['enqueue'], { folder, environment });
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(
    /QUEUE_UNREACHABLE: .*\(its certificate is not trusted \(.*\)\); .* in NODE_EXTRA_CA_CERTS/,
  );
  const served = await builtCommand(['enqueue'], {
    folder,
    environment: { ...environment, NODE_EXTRA_CA_CERTS: file },
  });
  expect(served.code).toBe(0);
});

test('a nightly sync whose job is lost is seen by the status, and scheduled again', async () => {
  const redis = await redisServer();
  const fleet = await fleetAt(redis.url);
  await fleet.queue.setNight('demo', '0 0 3 * * *');
  const whole = await command(redis.url, 'enqueue', 'status', '--format', 'json');
  expect([whole.code, JSON.parse(whole.out)]).toMatchObject([0, [{ account: 'demo', reason: null }]]);
  for (const key of await fleet.redis.keys('*:nights:repeat:account-demo:*')) await fleet.redis.del(key);
  const lost = await command(redis.url, 'enqueue', 'status', '--format', 'json');
  expect(lost.code).toBe(1);
  expect(JSON.parse(lost.out)).toMatchObject([
    {
      account: 'demo',
      state: 'resting',
      next_sync: null,
      reason: 'its nightly sync is lost; `ledgerlake enqueue nightly demo` schedules it again',
    },
  ]);
  await fleet.queue.setNight('demo', '0 0 3 * * *');
  expect((await command(redis.url, 'enqueue', 'status')).code).toBe(0);
  await fleet.close();
});
