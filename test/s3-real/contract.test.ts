import { randomUUID } from 'node:crypto';
import { CreateMultipartUploadCommand, HeadObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../src/lake/store/open-store.js';
import { HandClock } from '../core/clock.js';
import { pathsOf, storeContract } from '../lake/store-contract.js';

const bucket = process.env['LEDGERLAKE_S3_BUCKET'];
if (bucket === undefined) throw new Error('expected LEDGERLAKE_S3_BUCKET: run test/s3-real/run.sh');
const bytes = Buffer.from('bytes');

// Nothing but the environment says where it is, as with the command.
storeContract(
  'A real S3 service',
  () => {
    const location = `s3://${bucket}/lake ä+%/${randomUUID()}`;
    return Promise.resolve({ open: () => openStore(location), close: () => Promise.resolve() });
  },
  10,
);

describe('A real S3 service', () => {
  const prefix = randomUUID();
  const open = () => openStore(`s3://${bucket}/${prefix}`);

  test('lists more than a page of a thousand, from behind any name on', async () => {
    const store = open();
    const paths = Array.from({ length: 1010 }, (_, at) => `log/${String(at).padStart(20, '0')}.json`);
    for (let from = 0; from < paths.length; from += 50) {
      await Promise.all(paths.slice(from, from + 50).map((path) => store.write(path, bytes)));
    }
    expect(await pathsOf(store.list('log'))).toEqual(paths);
    expect(await pathsOf(store.list('log', paths[41]))).toEqual(paths.slice(42));
  });

  test('aborts unfinished uploads that are older than a day', async () => {
    const client = new S3Client({ forcePathStyle: true });
    for (const Key of [`${prefix}/a`, `${prefix}/b`, `${prefix}side/a`]) {
      await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
    }
    expect(await open().removeUnfinished()).toBe(0);
    const clock = new HandClock(Date.now() + 25 * 3_600_000);
    const later = openStore(`s3://${bucket}/${prefix}`, { clock });
    expect(await later.removeUnfinished()).toBe(2);
    expect(await later.removeUnfinished()).toBe(0);
    client.destroy();
  });

  test('knows the metadata by which a writer finds its own creation again', async () => {
    const store = open();
    expect(await store.create('created', bytes)).toBe(true);
    const client = new S3Client({ forcePathStyle: true });
    const { Metadata } = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: `${prefix}/created` }));
    expect(Object.keys(Metadata ?? {})).toEqual(['ledgerlake-writer']);
    client.destroy();
  });

  test('is told apart by its errors', async () => {
    const nowhere = openStore(`s3://nowhere-${prefix}/lake`);
    const stranger = openStore(`s3://${bucket}/lake`, {
      s3: { credentials: { accessKeyId: 'stranger', secretAccessKey: 'hush' } },
    });
    const calls = [
      () => nowhere.read('a'),
      () => nowhere.create('a', bytes),
      () => nowhere.removeUnfinished(),
      () => pathsOf(nowhere.list('')),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({
        code: 'LAKE_STORE',
        message: expect.stringContaining('there is no bucket') as unknown,
      });
    }
    await expect(stranger.read('a')).rejects.toMatchObject({
      code: 'LAKE_STORE',
      message: expect.stringContaining('credentials are missing, wrong or expired') as unknown,
    });
  });
});
