import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TokenBucket } from '../../../src/engine/rate-limit/token-bucket.js';
import { openPersistedQuota } from '../../../src/engine/page-journal/persisted-quota.js';
import { HandClock } from '../../core/clock.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { inItsFolder } from '../../core/io/path-below.js';

const never = (reason: unknown): void => {
  throw reason as Error;
};

test('a bucket goes on where the last run left it, refilled by the time between', async () => {
  const path = join(await temporaryFolder(), 'account', 'quota.json');
  const clock = new HandClock('2026-01-01');
  const opened = async () => {
    const kept = await openPersistedQuota(inItsFolder(path), never);
    const bucket: TokenBucket = new TokenBucket({
      rate: 0.5,
      burst: 30,
      clock,
      state: kept.stateOf('events'),
      changed: () => {
        kept.keep('events', bucket.state);
      },
    });
    return { kept, bucket };
  };
  const first = await opened();
  for (let n = 0; n < 30; n++) first.bucket.take();
  await first.kept.flush();
  await clock.advance(10_000);
  const second = await opened();
  expect(second.bucket.level()).toBeCloseTo(5);
  expect((await openPersistedQuota(inItsFolder(path), never)).stateOf('groups')).toBeUndefined();
});

test.each(['', '{"events":', '[]', 'null', '{"events":"soon","groups":null}'])(
  'a file with %j counts as nothing known',
  async (text) => {
    const path = join(await temporaryFolder(), 'quota.json');
    await writeFile(path, text);
    expect((await openPersistedQuota(inItsFolder(path), never)).stateOf('events')).toBeUndefined();
  },
);

test('where it can not be written that is told once', async () => {
  const path = join(await temporaryFolder(), 'file');
  await writeFile(path, 'in the way');
  const told: unknown[] = [];
  const kept = await openPersistedQuota(inItsFolder(join(path, 'quota.json')), (reason) => told.push(reason));
  kept.keep('events', 1);
  await kept.flush();
  kept.keep('events', 2);
  await kept.flush();
  expect(told).toHaveLength(1);
  expect(await readFile(path, 'utf8')).toBe('in the way');
  await rm(path);
  kept.keep('groups', 3);
  await kept.flush();
  expect(JSON.parse(await readFile(join(path, 'quota.json'), 'utf8'))).toEqual({ events: 2, groups: 3 });
});
