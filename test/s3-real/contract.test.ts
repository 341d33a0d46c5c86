import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CreateMultipartUploadCommand, HeadObjectCommand, PutBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../src/lake/store/open-store.js';
import { HandClock } from '../core/clock.js';
import { pathsOf, storeContract } from '../lake/store-contract.js';

const bucket = process.env['LEDGERLAKE_S3_BUCKET'];
if (bucket === undefined) throw new Error('expected LEDGERLAKE_S3_BUCKET: run test/s3-real/run.sh');
const bytes = Buffer.from('bytes');

/** Another user of the service, who may do what the bucket's policy allows. */
const guest = {
  accessKeyId: process.env['LEDGERLAKE_S3_GUEST_ID'] ?? '',
  secretAccessKey: process.env['LEDGERLAKE_S3_GUEST_SECRET'] ?? '',
};

interface Policy {
  readonly Statement: readonly { readonly Action: string | readonly string[] }[];
}

/** The policy of docs/s3.md for a lake at a prefix, granted to the guest. */
function policyOfDocs(name: string, prefix: string): Policy {
  const [, json = ''] = /```json\n(.*?)\n```/su.exec(readFileSync('docs/s3.md', 'utf8')) ?? [];
  const { Statement, ...policy } = JSON.parse(
    json.replaceAll('my-bucket', name).replaceAll('lake/*', `${prefix}/*`),
  ) as Policy;
  const Principal = { AWS: ['arn:aws:iam:::user/guest'] };
  return { ...policy, Statement: Statement.map((statement) => ({ ...statement, Principal })) };
}

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

  test('honours the condition of a creation, which the first one checks', async () => {
    const store = open();
    const calls: string[] = [];
    const counted = openStore(store.location, { s3: { onCall: (operation) => calls.push(operation) } });
    await store.write('log/0.json', bytes);
    expect(await counted.create('log/1.json', bytes, 'log/0.json')).toBe(true);
    expect(await counted.create('log/2.json', bytes, 'log/1.json')).toBe(true);
    expect(calls).toEqual(['GetObject', 'PutObject', 'PutObject', 'PutObject']);
  });

  test('serves who may list and use a prefix only, as the page on S3 has the policy', async () => {
    const policy = policyOfDocs(bucket, `${prefix}-guest`);
    const client = new S3Client({ forcePathStyle: true });
    await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: JSON.stringify(policy) }));
    client.destroy();
    const events: string[] = [];
    const store = openStore(`s3://${bucket}/${prefix}-guest`, {
      s3: { credentials: guest },
      emit: ({ event }) => events.push(event),
    });
    expect(await store.read('log/none')).toBeUndefined();
    expect(await store.create('log/0.json', bytes)).toBe(true);
    expect(await store.create('log/0.json', bytes)).toBe(false);
    expect(await store.read('log/0.json')).toEqual(new Uint8Array(bytes));
    expect(await store.readRange('log/none', -8, 8)).toBeUndefined();
    expect(await pathsOf(store.list(''))).toEqual(['log/0.json']);
    expect(await store.removeUnfinished()).toBe(0);
    expect(events).toEqual([]);
    await store.remove('log/0.json');
    expect(await pathsOf(store.list(''))).toEqual([]);
    const outside = openStore(`s3://${bucket}/${prefix}`, { s3: { credentials: guest } });
    await expect(outside.read('none')).rejects.toMatchObject({ code: 'LAKE_STORE', status: 403 });
  });

  test('serves who may not list unfinished uploads, with a warning', async () => {
    const { Statement, ...policy } = policyOfDocs(bucket, `${prefix}-few`);
    const fewer = Statement.filter(({ Action }) => Action !== 's3:ListBucketMultipartUploads');
    expect(fewer).toHaveLength(Statement.length - 1);
    const client = new S3Client({ forcePathStyle: true });
    const Policy = JSON.stringify({ ...policy, Statement: fewer });
    await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy }));
    client.destroy();
    const warned: unknown[] = [];
    const store = openStore(`s3://${bucket}/${prefix}-few`, {
      s3: { credentials: guest },
      emit: (event) => warned.push(event),
    });
    expect(await store.create('log/0.json', bytes)).toBe(true);
    expect(await store.removeUnfinished()).toBe(0);
    expect(warned).toEqual([
      { event: 'store-limited', reason: expect.stringContaining('s3:ListBucketMultipartUploads') as string },
    ]);
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
