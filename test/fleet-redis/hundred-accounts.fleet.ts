import { expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import { enqueue } from '../../src/app/fleet/enqueue.js';
import { trialsOf } from '../campaign.js';
import { childRun } from '../engine/run/child-run.js';
import { fleetAt, isEmpty } from './fleet-at.js';
import { redisServer } from './redis-server.js';
import { askedAgain, expectWholeLakes, startSellers, throttled } from './sellers.js';
import { until, workerProcess, type WorkerProcess } from './worker-process.js';

/** A request that began so shortly before a kill may not have been answered, or on a busy machine its page not been kept. */
const inFlightMs = 1500;

/** In the short form 25. */
const accounts = trialsOf('ACCOUNTS', 100);

test(`${accounts} accounts, four workers of which two are killed, and a Redis that restarts`, async () => {
  const redis = await redisServer();
  const sellers = await startSellers({ count: accounts });
  const place = { redis: { url: redis.url, shown: redis.url }, fleet: 'ledgerlake' };
  const started = performance.now();
  const silent = { clock: systemClock, emit: () => undefined, output: process.stdout };
  const asked = {
    ...place,
    action: 'backfill',
    named: [],
    accounts: sellers.names,
    night: undefined,
    format: 'json',
  } as const;
  await enqueue({ ...asked, from: sellers.from, to: sellers.to }, { ...silent, signal: new AbortController().signal });

  const workers = Array.from({ length: 4 }, () => workerProcess(sellers.config, redis.url, '--concurrency', '3'));
  const ended = () => workers.reduce((sum, worker) => sum + worker.ended().length, 0);
  const lost = new Map<string, number>();
  /** Kills a worker in the middle of its turns, at a moment of its own, and counts what was under way for it. */
  const kill = async (worker: WorkerProcess): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 500));
    await until('a worker with turns under way', () => worker.open().size > 0);
    const now = performance.now();
    await worker.kill();
    const fleet = await fleetAt(redis.url);
    for (const account of worker.open()) {
      // Its work was done, and only the line that says so was lost.
      if ((await fleet.jobs.of(account)).length === 0) continue;
      const recent = (sellers.times.get(account) ?? []).filter((at) => at > now - inFlightMs).length;
      lost.set(account, (lost.get(account) ?? 0) + recent);
    }
    await fleet.close();
  };
  const [first, second, third] = workers;
  if (first === undefined || second === undefined || third === undefined) throw new Error('there are four');
  await until('some turns', () => ended() >= 0.15 * accounts);
  await kill(first);
  await until('more turns', () => ended() >= 0.3 * accounts);
  await redis.restart();
  await until('nearly half of the turns', () => ended() >= 0.45 * accounts);
  await kill(second);

  const fleet = await fleetAt(redis.url);
  await until('an empty queue', () => isEmpty(fleet, sellers.names), 200_000);
  await fleet.close();
  const seconds = (performance.now() - started) / 1000;

  // The faults struck: turns were cut off and taken up, and the connection was gone for a while.
  expect(lost.size).toBeGreaterThan(1);
  // What the first left may have been taken up by the second, before that was killed too.
  const later = workers.slice(1).flatMap((worker) => worker.ended());
  for (const account of lost.keys()) expect(later.map((turn) => turn.account)).toContain(account);
  expect(third.emitted.map(({ event }) => event)).toEqual(expect.arrayContaining(['queue-lost', 'queue-back']));

  await expectWholeLakes(sellers);
  expect(throttled(sellers)).toBe(0);
  const again = sellers.names.filter((name) => askedAgain(sellers, name) > 0);
  for (const name of again) expect(askedAgain(sellers, name), name).toBeLessThanOrEqual(lost.get(name) ?? 0);
  for (const account of lost.keys()) {
    const verified = await childRun(['verify', '--lake', sellers.lake, '--account', account]).ended;
    expect(verified.code, verified.output).toBe(0);
  }
  const repeated = again.reduce((sum, name) => sum + askedAgain(sellers, name), 0);
  const atRisk = [...lost.values()].reduce((sum, count) => sum + count, 0);
  console.log(
    `${sellers.names.length} accounts in ${seconds.toFixed(0)} s; ${lost.size} turns cut off, ${repeated} pages asked for ` +
      `again of ${atRisk} that were in flight; 429s: ${throttled(sellers)}`,
  );
});
