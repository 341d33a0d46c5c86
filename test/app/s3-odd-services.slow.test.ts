import { expect, onTestFinished, test } from 'vitest';
import { createSeller } from '../../src/emulator/seller/seller.js';
import type { OddityName } from '../s3-server/oddities.js';
import { servedBucket } from '../s3-server/served-bucket.js';
import type { S3Server } from '../s3-server/server.js';
import { builtCommand, type Ended } from './built-command.js';
import { clockAt, serving, temporaryFolder } from './lake-run.js';

const clock = clockAt('2026-03-15T12:00:00Z');
const lake = 's3://bucket/lake';
const range = ['--from', '2026-01-01', '--to', '2026-01-20'];

interface Shop {
  readonly server: S3Server;
  /** Runs a command over the lake. */
  readonly command: (words: readonly string[], environment?: Readonly<Record<string, string>>) => Promise<Ended>;
  readonly backfill: (more?: readonly string[], environment?: Readonly<Record<string, string>>) => Promise<Ended>;
}

async function shop(oddity: OddityName | undefined): Promise<Shop> {
  const server = await servedBucket();
  server.oddity = oddity;
  const backend = createSeller({ seed: 3, events: 60, profile: 'edge-cases' }, clock);
  const endpoint = await serving({ backend, clock });
  const folder = await temporaryFolder();
  const command: Shop['command'] = (words, more) =>
    builtCommand([...words, '--lake', lake], { folder, environment: { ...server.environment, HOME: folder, ...more } });
  const load = ['backfill', 'financial-events', '--account', 'shop', '--endpoint', endpoint, '--rate', '1000'];
  return { server, command, backfill: (more = range, environment) => command([...load, ...more], environment) };
}

async function expectWhole({ command }: Shop): Promise<void> {
  const { code, out } = await command(['verify']);
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('WHOLE') as string });
  const query = "SELECT count(*) > 10 AS many FROM entries WHERE month = '2026-01'";
  expect(await command(['sql', '--format', 'csv', query])).toMatchObject({ code: 0, out: 'many\ntrue\n' });
}

/** Lines of the error output that are about the store. */
const warnings = ({ err }: Ended, about: RegExp): string[] => err.split('\n').filter((line) => about.test(line));

test.each(['uploads-denied', 'uploads-unsupported'] as const)(
  'runs end well, with one warning, where unfinished uploads cannot be listed: %s',
  async (oddity) => {
    const one = await shop(oddity);
    for (const run of [() => one.backfill(), () => one.command(['compact'])]) {
      const ended = await run();
      expect(ended).toMatchObject({ code: 0 });
      expect(warnings(ended, /s3:ListBucketMultipartUploads/)).toHaveLength(1);
    }
    await expectWhole(one);
    const forgotten = await one.command(['forget', '--account', 'shop', '--yes']);
    expect(forgotten).toMatchObject({ code: 0 });
    expect(warnings(forgotten, /s3:ListBucketMultipartUploads/)).toHaveLength(1);
  },
);

test.each(['missing-denied', 'checksum-refused'] as const)(
  'a lake is loaded, loaded on and verified on a store of the kind %s',
  async (oddity) => {
    const one = await shop(oddity);
    const first = await one.backfill();
    expect(first).toMatchObject({ code: 0 });
    const second = await one.backfill(['--from', '2026-01-01', '--to', '2026-01-25']);
    expect(second).toMatchObject({ code: 0 });
    for (const ended of [first, second]) {
      expect(warnings(ended, /AWS_REQUEST_CHECKSUM_CALCULATION/)).toHaveLength(oddity === 'checksum-refused' ? 1 : 0);
    }
    await expectWhole(one);
    expect(await one.command(['status'])).toMatchObject({ code: 0, err: '' });
  },
);

test('a bucket that demands an encryption gets it from the settings, and names them without', async () => {
  const one = await shop('encryption-demanded');
  const refused = await one.backfill();
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(/LAKE_STORE: .*s3:PutObject.*encryption.*`sse` and `kmsKey`/);
  const key = 'arn:aws:kms:eu-west-1:111122223333:key/one';
  const settings = { LEDGERLAKE_SSE: 'aws:kms', LEDGERLAKE_KMS_KEY: key };
  expect(await one.backfill(range, settings)).toMatchObject({ code: 0 });
  expect(await one.command(['compact'], settings)).toMatchObject({ code: 0 });
  expect(await one.command(['export', 'iceberg'], settings)).toMatchObject({ code: 0 });
  await expectWhole(one);
  const accepted = one.server.calls.filter(
    ({ operation, headers }) => operation === 'PutObject' && headers?.['x-amz-server-side-encryption'] !== undefined,
  );
  expect(accepted.length).toBeGreaterThan(10);
  for (const { headers } of accepted) expect(headers?.['x-amz-server-side-encryption-aws-kms-key-id']).toBe(key);
  expect(await one.command(['forget', '--account', 'shop', '--yes'], settings)).toMatchObject({ code: 0 });
});

test('a store that ignores If-None-Match is refused before a commit, of a new lake and of one that is there', async () => {
  const one = await shop(undefined);
  const refusal = /LAKE_STORE: .*`If-None-Match: \*`.*got 200/;
  const objects = () => one.server.bucket('bucket').objects;
  one.server.oddity = 'condition-ignored';
  const first = await one.backfill();
  expect(first.code).toBe(1);
  expect(first.err).toMatch(refusal);
  expect([...objects().keys()].filter((key) => key.endsWith('.parquet'))).toEqual([]);

  objects().clear();
  one.server.oddity = undefined;
  expect(await one.backfill()).toMatchObject({ code: 0 });
  const logs = () =>
    new Map([...objects()].flatMap(([key, { etag }]) => (/_delta_log\/\d+\.json$/.test(key) ? [[key, etag]] : [])));
  const before = logs();
  one.server.oddity = 'condition-ignored';
  const second = await one.backfill(['--from', '2026-01-01', '--to', '2026-01-25']);
  expect(second.code).toBe(1);
  expect(second.err).toMatch(refusal);
  expect(logs()).toEqual(before);
  // Readers don't put.
  one.server.calls.length = 0;
  await expectWhole(one);
  expect(await one.command(['status'])).toMatchObject({ code: 0 });
  expect(one.server.calls.filter(({ operation }) => operation === 'PutObject')).toEqual([]);
});

test('a listing that goes on nowhere is the fault of the store, not of the lake', async () => {
  const one = await shop(undefined);
  expect(await one.backfill()).toMatchObject({ code: 0 });
  one.server.oddity = 'listing-without-token';
  one.server.pageSize = 2;
  onTestFinished(() => void (one.server.pageSize = 1000));
  for (const words of [['status'], ['verify'], ['compact']]) {
    const { code, err } = await one.command(words);
    expect(code).toBe(1);
    expect(err).toMatch(/LAKE_STORE: expected 127\.0\.0\.1:\d+ to send a token for the next page/);
    expect(err).not.toMatch(/missing|damaged/);
  }
});
