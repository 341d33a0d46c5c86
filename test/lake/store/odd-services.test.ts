import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { openStore, type StoreOptions } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import type { S3Call } from '../../s3-server/faults.js';
import { type S3Server, startS3Server } from '../../s3-server/server.js';
import { pathsOf } from '../store-contract.js';

const bytes = Buffer.from('bytes');

let server: S3Server;
let emitted: RunEvent[];
let folder: string;
beforeAll(async () => {
  server = await startS3Server('bucket');
});
afterAll(() => server.close());
beforeEach(() => {
  server.oddity = undefined;
  server.pageSize = 1000;
  server.calls.length = 0;
  emitted = [];
  folder = randomUUID();
});

function open(options: StoreOptions = {}): Store {
  const { endpoint, credentials } = server;
  const s3 = { endpoint, credentials, region: 'us-east-1' };
  return openStore(`s3://bucket/${folder}`, { emit: (event) => emitted.push(event), ...options, s3 });
}

const operations = (): string[] => server.calls.map(({ operation }) => operation);
const putInto = (name: string): void => {
  server.bucket('bucket').put(`${folder}/${name}`, bytes, {}, false);
};
const contentOf = (name: string): string =>
  Buffer.from(server.bucket('bucket').get(`${folder}/${name}`).bytes).toString();
const limits = (): string[] => emitted.flatMap((event) => (event.event === 'store-limited' ? event.reason : []));

test.each([
  ['uploads-denied', '403 AccessDenied'],
  ['uploads-unsupported', '501 NotImplemented'],
] as const)('unfinished uploads that cannot be listed stay, with one warning: %s', async (oddity, answer) => {
  server.oddity = oddity;
  const store = open();
  expect(await store.removeUnfinished()).toBe(0);
  expect(await store.removeUnfinished(true)).toBe(0);
  expect(limits()).toEqual([expect.stringContaining(`(${answer})`)]);
  expect(limits()[0]).toMatch(/s3:ListBucketMultipartUploads/);
});

test('uploads of a listing that goes on nowhere are cleared as far as it goes', async () => {
  for (let at = 0; at < 5; at++) server.bucket('bucket').begin(`${folder}/${at}`, {});
  server.oddity = 'listing-without-token';
  server.pageSize = 2;
  expect(await open().removeUnfinished(true)).toBe(2);
  expect(await open().removeUnfinished(true)).toBe(2);
  expect(await open().removeUnfinished(true)).toBe(1);
});

test('a denied key is absent where a listing lacks it, and denied where the listing has it', async () => {
  const store = open();
  await store.write('a/there', bytes);
  server.oddity = 'missing-denied';
  expect(await store.read('a/not')).toBeUndefined();
  // A longer name begins with it.
  expect(await store.read('a/th')).toBeUndefined();
  expect(await store.readRange('a/not', -8, 8)).toBeUndefined();
  expect(await store.read('a/there')).toEqual(new Uint8Array(bytes));
  expect(await store.create('a/there', bytes)).toBe(false);
  const refusal = { kind: 'refuse', status: 403, code: 'AccessDenied' } as const;
  server.faults.next('GetObject', refusal, 2);
  await expect(store.read('a/there')).rejects.toMatchObject({ code: 'LAKE_STORE', status: 403 });
  // It came into being between the two requests.
  server.faults.next('ListObjectsV2', {
    kind: 'first',
    run: () => {
      putInto('a/late');
    },
  });
  expect(await store.read('a/late')).toEqual(new Uint8Array(bytes));
  server.faults.next('ListObjectsV2', refusal);
  await expect(store.read('a/not')).rejects.toMatchObject({ code: 'LAKE_STORE', status: 403 });
});

test('checksums that the service refuses are left out from then on, with one warning', async () => {
  server.oddity = 'checksum-refused';
  const store = open();
  await Promise.all([store.write('a', bytes), store.create('b', bytes)]);
  expect(await store.create('b', bytes)).toBe(false);
  const before = operations().length;
  await store.write('c', bytes);
  expect(operations().slice(before)).toEqual(['PutObject']);
  expect(limits()).toEqual([expect.stringContaining('AWS_REQUEST_CHECKSUM_CALCULATION=WHEN_REQUIRED')]);
});

test('a large first file is uploaded without the refused checksums', async () => {
  server.oddity = 'checksum-refused';
  await open().write('large', Buffer.alloc((32 << 20) + 1, 3));
  expect(server.bucket('bucket').get(`${folder}/large`).bytes).toHaveLength((32 << 20) + 1);
  expect(server.bucket('bucket').uploads.size).toBe(0);
});

test('the variable of the SDK spares the refused request, and the warning', async () => {
  server.oddity = 'checksum-refused';
  vi.stubEnv('AWS_REQUEST_CHECKSUM_CALCULATION', 'WHEN_REQUIRED');
  try {
    await open().write('a', bytes);
    expect(operations()).toEqual(['PutObject']);
    expect(limits()).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('a service that refuses more than checksums keeps its own error', async () => {
  server.faults.next('PutObject', { kind: 'refuse', status: 501, code: 'NotImplemented' }, 2);
  await expect(open().create('a', bytes)).rejects.toMatchObject({ status: 501 });
  expect(server.faults.left).toBe(0);
  expect(limits()).toEqual([]);
});

test('a refused put names the permission and the encryption that a bucket may demand', async () => {
  server.oddity = 'encryption-demanded';
  const refused = expect.stringMatching(/s3:PutObject.*encryption.*`sse` and `kmsKey`.*kms:GenerateDataKey/) as string;
  await expect(open().write('a', bytes)).rejects.toMatchObject({ code: 'LAKE_STORE', message: refused });
  await expect(open().create('a', bytes)).rejects.toMatchObject({ code: 'LAKE_STORE', message: refused });
});

test.each([
  { sse: 'AES256' },
  { sse: 'aws:kms' },
  { sse: 'aws:kms:dsse', kmsKey: 'arn:aws:kms:eu-west-1:111122223333:key/one' },
] as const)('every object is encrypted as %j asks for it', async (encryption) => {
  server.oddity = 'encryption-demanded';
  const store = open({ encryption });
  await store.write('a', bytes);
  expect(await store.create('b', bytes)).toBe(true);
  expect(await store.read('a')).toEqual(new Uint8Array(bytes));
  const puts = server.calls.filter(({ operation }) => operation === 'PutObject');
  expect(puts).toHaveLength(3);
  for (const { headers } of puts) expect(askedIn(headers)).toEqual([encryption.sse, Reflect.get(encryption, 'kmsKey')]);
});

test('a large object is encrypted as the setting asks for it', async () => {
  server.oddity = 'encryption-demanded';
  await open({ encryption: { sse: 'aws:kms', kmsKey: 'one' } }).write('large', Buffer.alloc((32 << 20) + 1, 3));
  const [begun] = server.calls.filter(({ operation }) => operation === 'CreateMultipartUpload');
  expect(askedIn(begun?.headers)).toEqual(['aws:kms', 'one']);
});

/** The encryption that a request asks for, and its key. */
function askedIn(headers: S3Call['headers']): unknown[] {
  return ['x-amz-server-side-encryption', 'x-amz-server-side-encryption-aws-kms-key-id'].map((name) => headers?.[name]);
}

test('a key that cannot be used is named by its setting', async () => {
  server.faults.next('PutObject', { kind: 'refuse', status: 400, code: 'KMS.NotFoundException' }, 2);
  const store = open({ encryption: { sse: 'aws:kms', kmsKey: 'gone' } });
  await expect(store.write('a', bytes)).rejects.toThrow(/`kmsKey`.*KMS\.NotFoundException/);
});

const ignored = expect.stringMatching(/If-None-Match.*got 200/) as string;

test('a store that ignores the condition is refused before the first commit of a lake that is there', async () => {
  await open().write('log/0.json', bytes);
  await open().write('log/1.json', Buffer.from('of another'));
  server.oddity = 'condition-ignored';
  const store = open();
  for (const attempt of ['first', 'second']) {
    await expect(store.create('log/1.json', Buffer.from(attempt), 'log/0.json')).rejects.toMatchObject({
      code: 'LAKE_STORE',
      message: ignored,
    });
  }
  expect(contentOf('log/0.json')).toBe('bytes');
  expect(contentOf('log/1.json')).toBe('of another');
});

test('the first commit of a lake is put again, and a store that takes it is refused', async () => {
  server.oddity = 'condition-ignored';
  await expect(open().create('log/0.json', bytes)).rejects.toMatchObject({ code: 'LAKE_STORE', message: ignored });
  expect(contentOf('log/0.json')).toBe('bytes');
  // Of two first writers none believes that it has won.
  const both = await Promise.allSettled([open().create('log/1.json', bytes), open().create('log/1.json', bytes)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('a store that honours the condition is asked once a process, and a reader never', async () => {
  const store = open();
  expect(await store.create('log/0.json', bytes)).toBe(true);
  expect(operations()).toEqual(['PutObject', 'PutObject']);
  expect(await store.create('log/1.json', bytes, 'log/0.json')).toBe(true);
  expect(operations()).toHaveLength(3);

  server.calls.length = 0;
  const other = open();
  await other.read('log/0.json');
  await pathsOf(other.list('log'));
  expect(operations()).not.toContain('PutObject');
  server.calls.length = 0;
  expect(await other.create('log/2.json', bytes, 'log/1.json')).toBe(true);
  expect(await other.create('log/3.json', bytes, 'log/2.json')).toBe(true);
  expect(server.calls.map(({ operation, key }) => [operation, key.slice(-6)])).toEqual([
    ['GetObject', '1.json'],
    ['PutObject', '1.json'],
    ['PutObject', '2.json'],
    ['PutObject', '3.json'],
  ]);

  // A lost race shows it as well.
  server.calls.length = 0;
  const third = open();
  expect(await third.create('log/3.json', bytes)).toBe(false);
  expect(await third.create('log/4.json', bytes)).toBe(true);
  expect(operations()).toEqual(['PutObject', 'PutObject']);
});

test('commits at once ask once, and a commit that is gone meanwhile accuses nobody', async () => {
  await open().write('log/0.json', bytes);
  server.calls.length = 0;
  const store = open();
  const created = ['1', '2', '3'].map((name) => store.create(`log/${name}.json`, bytes, 'log/0.json'));
  expect(await Promise.all(created)).toEqual([true, true, true]);
  expect(operations().filter((operation) => operation === 'GetObject')).toHaveLength(1);
  expect(operations()).toHaveLength(5);

  const remove = (): void => void server.bucket('bucket').objects.delete(`${folder}/log/0.json`);
  server.faults.next('PutObject', { kind: 'first', run: remove });
  expect(await open().create('log/4.json', bytes, 'log/0.json')).toBe(true);
  expect(await open().create('log/5.json', bytes, 'log/none.json')).toBe(true);
});

test('a listing that goes on without a token is an error of the store, and asks once for its beginning', async () => {
  const store = open();
  for (const name of ['a', 'b', 'c', 'd', 'e']) await store.write(`log/${name}`, bytes);
  server.pageSize = 2;
  expect(await pathsOf(store.list('log', 'log/a'))).toEqual(['log/b', 'log/c', 'log/d', 'log/e']);
  server.oddity = 'listing-without-token';
  await expect(pathsOf(store.list('log'))).rejects.toMatchObject({
    code: 'LAKE_STORE',
    message: expect.stringMatching(/^expected 127\.0\.0\.1:\d+ to .*token.*got none/) as string,
  });
  server.pageSize = 1000;
  expect(await pathsOf(store.list('log'))).toHaveLength(5);
});

test('only the first page of a listing is asked for by its beginning', async () => {
  const store = open();
  for (const name of ['a', 'b', 'c', 'd']) await store.write(`log/${name}`, bytes);
  server.pageSize = 1;
  server.calls.length = 0;
  await pathsOf(store.list('log', 'log/a'));
  expect(server.calls.map(({ query }) => [query?.has('start-after'), query?.has('continuation-token')])).toEqual([
    [true, false],
    [false, true],
    [false, true],
  ]);
});
