import { expect, test } from 'vitest';
import { copied } from '../lake/s3-run.js';
import { childRun } from '../engine/run/child-run.js';
import { servedBucket } from '../s3-server/served-bucket.js';
import { fleetAt, isEmpty } from './fleet-at.js';
import { redisServer } from './redis-server.js';
import { askedAgain, expectWholeLakes, startSellers, throttled } from './sellers.js';
import { until, workerProcess } from './worker-process.js';

test('on S3 two workers of which one is killed come to whole lakes, and nothing is doubled', async () => {
  const s3 = await servedBucket();
  const redis = await redisServer();
  const lake = 's3://bucket/lakes/shops';
  const sellers = await startSellers({ count: 10, events: 90, lake });
  const fleet = await fleetAt(redis.url);
  for (const name of sellers.names) {
    await fleet.enqueue(name, { work: 'backfill', from: sellers.from, to: sellers.to }, Date.now());
  }
  // What is under way is kept on a worker's own machine where a lake is on S3, so the other one has none of it.
  const [first, second] = ['one', 'two'].map((name) =>
    workerProcess(sellers.config, redis.url, '--concurrency', '2', '--journal', `${sellers.folder}/${name}`),
  );
  if (first === undefined || second === undefined) throw new Error('there are two');
  const commits = () => s3.calls.filter(({ key }) => key.includes('_delta_log/')).length;
  const begun = () => first.emitted.filter(({ event }) => event === 'turn-started').length;
  await until('turns of both, a new one of the first, and commits', () => {
    return begun() > 2 && second.open().size > 0 && commits() > 20;
  });
  await first.kill();
  // It may have died between the end of a job and the line that tells it.
  const lost: string[] = [];
  for (const account of first.open()) if ((await fleet.jobs.of(account)).length > 0) lost.push(account);
  await until('an empty queue', () => isEmpty(fleet, sellers.names));
  await fleet.close();

  // The fault struck: a turn was cut off, and the other worker took the account up.
  expect(lost.length).toBeGreaterThan(0);
  for (const account of lost) expect(second.ended().map((turn) => turn.account)).toContain(account);
  await expectWholeLakes({ ...sellers, lake: await copied(lake) });
  expect(throttled(sellers)).toBe(0);
  for (const name of sellers.names.filter((one) => !lost.includes(one)))
    expect(askedAgain(sellers, name), name).toBe(0);
  const verified = await childRun(['verify', '--lake', lake]).ended;
  expect(verified.code, verified.output).toBe(0);
});
