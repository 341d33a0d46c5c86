import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { type S3Options, uploadParts } from '../../../src/lake/store/s3-bucket.js';
import { s3Store } from '../../../src/lake/store/s3.js';
import { HandClock } from '../../core/clock.js';
import { type S3Server, startS3Server } from '../../s3-server/server.js';
import { pathsOf, storeContract } from '../store-contract.js';

const optionsOf = ({ endpoint, credentials }: S3Server): S3Options => ({ endpoint, credentials, region: 'us-east-1' });

storeContract(
  'S3',
  async () => {
    const server = await startS3Server('bucket');
    // Small pages, so that lists take several.
    server.pageSize = 3;
    return {
      open: () => s3Store('s3://bucket/some/lake', optionsOf(server)),
      close: () => server.close(),
    };
  },
  10,
);

const bytes = Buffer.from('bytes');

describe('A lake on S3', () => {
  let server: S3Server;
  let file: string;
  beforeAll(async () => {
    server = await startS3Server('bucket');
  });
  afterAll(() => server.close());
  beforeEach(() => {
    file = `${randomUUID()}/file`;
    server.calls.length = 0;
  });

  const open = (options: S3Options = {}) => s3Store('s3://bucket/lake', { ...optionsOf(server), ...options });
  const key = (): string => `lake/${file}`;
  const content = (): string | undefined =>
    server.bucket('bucket').objects.has(key())
      ? Buffer.from(server.bucket('bucket').get(key()).bytes).toString()
      : undefined;
  const operations = (): string[] => server.calls.map(({ operation }) => operation);
  const takenByAnother = {
    kind: 'first',
    run: () => server.bucket('bucket').put(key(), Buffer.from('other'), {}, true),
  } as const;

  test('keeps its keys below its prefix, and the whole bucket without one', async () => {
    await open().write(file, bytes);
    expect(content()).toBe('bytes');
    const whole = s3Store('s3://bucket/', optionsOf(server));
    expect(await whole.read(key())).toEqual(new Uint8Array(bytes));
    expect(whole.address('a/b')).toBe('s3://bucket/a/b');
    expect(open().address('a/b')).toBe('s3://bucket/lake/a/b');
    expect(s3Store('s3://bucket/a/lake//', optionsOf(server)).address('b')).toBe('s3://bucket/a/lake/b');
  });

  test("lists neither a neighbour of the same beginning nor a console's folder markers", async () => {
    const bucket = server.bucket('bucket');
    for (const name of ['lakeside/x', 'lake/', 'lake/m/', 'lake/m/x', 'lake/_tmp/x'])
      bucket.put(name, bytes, {}, false);
    expect(await pathsOf(open().list('m'))).toEqual(['m/x']);
    const all = await pathsOf(open().list(''));
    expect(all).toContain('m/x');
    expect(all.filter((path) => /side|_tmp|\/$/.test(path))).toEqual([]);
  });

  test('takes one call to create, to write, to read a range, and counts them', async () => {
    const counted: string[] = [];
    const store = open({ onCall: (operation) => counted.push(operation) });
    // The first creation finds out whether the service refuses a second one.
    await store.create(`${file}-first`, bytes);
    expect(counted.splice(0)).toEqual(['PutObject', 'PutObject']);
    server.calls.length = 0;
    await store.create(file, bytes);
    await store.write(file, bytes);
    await store.readRange(file, -2, 2);
    await store.remove(file);
    expect(counted).toEqual(['PutObject', 'PutObject', 'GetObject', 'DeleteObject']);
    expect(operations()).toEqual(counted);
  });

  describe('under faults', () => {
    test.each([
      { kind: 'refuse', status: 500, code: 'InternalError' },
      { kind: 'refuse', status: 503, code: 'SlowDown' },
      { kind: 'close' },
      { kind: 'close after' },
    ] as const)('carries every call through a passing $kind $status', async (fault) => {
      const store = open();
      server.faults.next('PutObject', fault);
      await store.write(file, bytes);
      server.faults.next('GetObject', fault);
      expect(await store.read(file)).toEqual(new Uint8Array(bytes));
      server.faults.next('ListObjectsV2', fault);
      expect(await pathsOf(store.list(file.slice(0, -5)))).toHaveLength(1);
      server.faults.next('DeleteObject', fault);
      await store.remove(file);
      expect(content()).toBeUndefined();
      expect(server.faults.left).toBe(0);
    });

    test('reads again what broke off in the middle of the body', async () => {
      const store = open();
      const large = Buffer.alloc(300_000, 5);
      await store.write(file, large);
      server.faults.next('GetObject', { kind: 'cut' }, 2);
      expect(Buffer.compare((await store.read(file)) ?? bytes, large)).toBe(0);
      server.faults.next('GetObject', { kind: 'cut' }, 99);
      await expect(store.read(file)).rejects.toMatchObject({ code: 'LAKE_STORE' });
      while (server.faults.left > 0) server.faults.take({ operation: 'GetObject', key: '' });
    });

    test.each([
      { kind: 'close after' },
      { kind: 'refuse after', status: 500, code: 'InternalError' },
      { kind: 'refuse after', status: 503, code: 'ServiceUnavailable' },
    ] as const)('knows its own creation again when its answer is lost: $kind $status', async (fault) => {
      server.faults.next('PutObject', fault);
      expect(await open().create(file, bytes)).toBe(true);
      expect(content()).toBe('bytes');
      expect(operations()).toEqual(['PutObject', 'PutObject', 'HeadObject']);
    });

    test("doesn't take another's creation of the same bytes for its own", async () => {
      server.faults.next('PutObject', { kind: 'close' });
      server.faults.next('PutObject', {
        kind: 'first',
        run: () => server.bucket('bucket').put(key(), bytes, { 'ledgerlake-writer': 'another' }, true),
      });
      expect(await open().create(file, bytes)).toBe(false);
      server.faults.next('PutObject', { kind: 'refuse', status: 500, code: 'InternalError' });
      expect(await open().create(file, Buffer.alloc(0))).toBe(false);
    });

    test('knows its own empty creation again', async () => {
      server.faults.next('PutObject', { kind: 'close after' });
      expect(await open().create(file, new Uint8Array(0))).toBe(true);
    });

    test.each([
      { kind: 'refuse', status: 500, code: 'InternalError' },
      { kind: 'close' },
      { kind: 'close after' },
      { kind: 'refuse after', status: 500, code: 'InternalError' },
    ] as const)('says that it is unclear who created when no answer comes: $kind', async (fault) => {
      server.faults.next('PutObject', fault);
      const creation = open({ maxAttempts: 1 }).create(file, bytes);
      await expect(creation).rejects.toMatchObject({
        code: 'LAKE_UNCLEAR',
        message: expect.stringContaining(`s3://bucket/lake/${file}`) as unknown,
      });
      const written = content() !== undefined;
      expect(written).toBe(fault.kind.endsWith('after'));
      expect(await open().create(file, bytes)).toBe(!written);
    });

    test('says that it is unclear when what stands in the way can not be looked at', async () => {
      server.faults.next('PutObject', { kind: 'close after' });
      server.faults.next('HeadObject', { kind: 'refuse', status: 403, code: 'AccessDenied' });
      await expect(open().create(file, bytes)).rejects.toMatchObject({ code: 'LAKE_UNCLEAR' });
    });

    test('tries again on a conflict, and says so when there is no end to it', async () => {
      const clock = new HandClock(0);
      const slept: number[] = [];
      const store = open({
        clock: { now: () => clock.now(), sleep: (ms) => Promise.resolve(void slept.push(ms)) },
      });
      const conflict = { kind: 'refuse', status: 409, code: 'ConditionalRequestConflict' } as const;
      server.faults.next('PutObject', conflict, 2);
      expect(await store.create(file, bytes)).toBe(true);
      expect(slept).toEqual([50, 100]);
      expect(content()).toBe('bytes');
      server.faults.next('PutObject', conflict, 1);
      expect(await store.create(file, bytes)).toBe(false);
      server.faults.next('PutObject', conflict, 6);
      await expect(store.create(file, bytes)).rejects.toMatchObject({ code: 'LAKE_UNCLEAR' });
      expect(server.faults.left).toBe(0);
    });

    test('loses to a creation that comes in between', async () => {
      server.faults.next('PutObject', takenByAnother);
      expect(await open().create(file, bytes)).toBe(false);
      expect(content()).toBe('other');
      expect(operations()).toEqual(['PutObject']);
    });
  });

  describe('with a body in parts', () => {
    const large = Buffer.alloc((32 << 20) + 1, 3);
    const uploads = (): number => server.bucket('bucket').uploads.size;

    test('has three parts under way at once', async () => {
      let release: () => void = () => undefined;
      const until = new Promise<void>((resolve) => (release = resolve));
      server.faults.next('UploadPart', { kind: 'wait', until }, 3);
      const write = open().write(file, large);
      // None of the three is answered before all of them have come.
      while (server.faults.left > 0) await setImmediate();
      release();
      await write;
      expect(server.bucket('bucket').get(key()).bytes).toHaveLength(large.length);
    });

    test('carries every step through a passing fault', async () => {
      server.faults.next('UploadPart', { kind: 'close' });
      server.faults.next('CreateMultipartUpload', { kind: 'refuse', status: 500, code: 'InternalError' });
      await open().write(file, large);
      expect(server.bucket('bucket').get(key()).bytes).toHaveLength(large.length);
      expect(operations().filter((operation) => operation === 'UploadPart')).toHaveLength(4);
      expect(uploads()).toBe(0);
    });

    test('knows its own upload again when the answer to its completion is lost', async () => {
      server.faults.next('CompleteMultipartUpload', { kind: 'close after' });
      await open().write(file, large);
      expect(server.bucket('bucket').get(key()).bytes).toHaveLength(large.length);
      expect(uploads()).toBe(0);
    });

    test('leaves neither object nor upload behind when it fails', async () => {
      server.faults.next('UploadPart', { kind: 'refuse', status: 403, code: 'AccessDenied' });
      await expect(open().write(file, large)).rejects.toMatchObject({ code: 'LAKE_STORE', status: 403 });
      expect(content()).toBeUndefined();
      expect(uploads()).toBe(0);
    });

    test('waits for the parts under way before it gives up', async () => {
      const log: string[] = [];
      let release: () => void = () => undefined;
      const slow = new Promise<void>((resolve) => (release = resolve));
      const upload = uploadParts(Buffer.alloc(10), 2, 2, async (number) => {
        if (number === 2) throw new Error('no');
        await slow;
        log.push(`sent ${number}`);
      }).catch((error: unknown) => log.push(String(error)));
      release();
      await upload;
      expect(log).toEqual(['sent 1', 'Error: no']);
    });

    test('sends the parts of any body in order', async () => {
      for (const size of [1, 5, 6, 7, 30]) {
        const body = Buffer.from(Array.from({ length: size }, (_, at) => at));
        const parts = await uploadParts(body, 3, 3, (number, part) => Promise.resolve([number, ...part]));
        expect(parts.map(([number]) => number)).toEqual(parts.map((_, at) => at + 1));
        expect(parts.flatMap(([, ...part]) => part)).toEqual([...body]);
      }
    });
  });

  test('aborts unfinished uploads of its own prefix that are older than a day', async () => {
    const bucket = server.bucket('bucket');
    const clock = new HandClock('2024-03-02T00:00:00Z');
    const begin = (name: string, at: string): string => {
      const upload = bucket.begin(name, {});
      upload.initiatedAt = Date.parse(at);
      return upload.id;
    };
    const kept = [begin('lake/a', '2024-03-01T00:00:01Z'), begin('lakeside/a', '2024-01-01T00:00:00Z')];
    for (let at = 0; at < 5; at++) begin('lake/old', '2024-02-29T23:59:59Z');
    server.pageSize = 2;
    expect(await open({ clock }).removeUnfinished()).toBe(5);
    server.pageSize = 1000;
    expect([...bucket.uploads.keys()].sort()).toEqual(kept.sort());
    bucket.uploads.clear();
  });

  describe('that can not be used', () => {
    const messageOf = async (work: Promise<unknown>): Promise<string> => {
      const error: unknown = await work.catch((thrown: unknown) => thrown);
      if (!(error instanceof LedgerlakeError)) throw new Error(`expected a LedgerlakeError, got ${String(error)}`);
      expect(error.code).toBe('LAKE_STORE');
      expect(error.message).not.toContain('\n');
      expect(`${error.message}${error.details ?? ''}`).not.toContain(server.credentials.secretAccessKey);
      // Neither does the whole error, with all that hangs on it, lead to what was signed or sent.
      expect(inspect(error, { depth: Infinity, showHidden: true })).not.toMatch(/Signature=|authorization/i);
      return error.message;
    };

    test('names a bucket that is not there', async () => {
      const store = s3Store('s3://nowhere/lake', optionsOf(server));
      const expected = /there is no bucket `nowhere` at 127\.0\.0\.1:\d+; create it, or check --lake/;
      expect(await messageOf(store.read('a'))).toMatch(expected);
      expect(await messageOf(store.write('a', bytes))).toMatch(expected);
      expect(await messageOf(store.create('a', bytes))).toMatch(expected);
      expect(await messageOf(store.remove('a'))).toMatch(expected);
      expect(await messageOf(pathsOf(store.list('')))).toMatch(expected);
      expect(await messageOf(store.removeUnfinished())).toMatch(expected);
    });

    test('names wrong credentials, without showing them', async () => {
      const { accessKeyId } = server.credentials;
      const wrongSecret = open({ credentials: { accessKeyId, secretAccessKey: 'hush-hush' } });
      const wrongId = open({ credentials: { accessKeyId: 'stranger', secretAccessKey: 'hush-hush' } });
      for (const store of [wrongSecret, wrongId]) {
        const message = await messageOf(store.read('a'));
        expect(message).toMatch(/credentials are missing, wrong or expired.*AWS_ACCESS_KEY_ID/);
        expect(message).not.toMatch(/hush|stranger/);
      }
    });

    test('names what credentials may not do', async () => {
      await open().write(file, bytes);
      server.faults.next('GetObject', { kind: 'refuse', status: 403, code: 'AccessDenied' }, 2);
      expect(await messageOf(open().read(file))).toMatch(/`bucket` refuses these credentials .*s3:GetObject/);
    });

    test('names an endpoint that nobody listens on', async () => {
      const gone = await startS3Server();
      await gone.close();
      const store = s3Store('s3://bucket/lake', { ...optionsOf(gone), maxAttempts: 1 });
      expect(await messageOf(store.create('a', bytes))).toMatch(/127\.0\.0\.1:\d+ can't be reached.*ECONNREFUSED/);
      expect(await messageOf(store.read('a'))).toMatch(/can't be reached/);
    });

    test('names a service that keeps failing, or lacks what is needed', async () => {
      server.faults.next('GetObject', { kind: 'refuse', status: 503, code: 'ServiceUnavailable' });
      expect(await messageOf(open({ maxAttempts: 1 }).read(file))).toMatch(/keeps answering 503 ServiceUnavailable/);
      server.faults.next('PutObject', { kind: 'refuse', status: 501, code: 'NotImplemented' }, 2);
      expect(await messageOf(open({ maxAttempts: 1 }).write(file, bytes))).toMatch(/does not support/);
      server.faults.next('PutObject', { kind: 'refuse', status: 301, code: 'PermanentRedirect' });
      expect(await messageOf(open().write(file, bytes))).toMatch(/another region.*AWS_REGION/);
    });
  });
});

describe('The place of a lake', () => {
  test('is S3 for s3:// and a folder otherwise', () => {
    expect(openStore('s3://bucket/lake').address('a')).toBe('s3://bucket/lake/a');
    expect(openStore('data/lake').address('a')).toBe(`${process.cwd()}/data/lake/a`);
    expect(openStore('data/lake').location).toBe('data/lake');
  });

  test.each([
    '',
    's3://',
    's3:///lake',
    's3://bucket/a/../b',
    's3://bucket/a//b',
    'gs://bucket/lake',
    's3:/bucket/lake',
    's3:bucket',
    's3//bucket',
    'S3://bucket',
    'http://x/y',
    'a\0b',
  ])('can not be %j', (location) => {
    expect(() => openStore(location)).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
  });

  test('has a bucket of at least three characters', () => {
    expect(() => openStore('s3://b/x')).toThrow(/got "s3:\/\/b\/x"; a bucket's name has 3 to 63 characters$/);
  });

  test('can be a folder whose name begins like a bucket', () => {
    expect(() => openStore('s3:/bucket')).toThrow(/got "s3:\/bucket"; a folder of that name is \.\/s3:\/bucket$/);
    expect(openStore('./s3:/bucket').address('a')).toBe(`${process.cwd()}/s3:/bucket/a`);
    expect(openStore('s3/bucket').address('a')).toBe(`${process.cwd()}/s3/bucket/a`);
  });

  test('takes endpoint, credentials and region from the environment, and a region by default', async () => {
    const server = await startS3Server('bucket');
    try {
      for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
      for (const name of ['AWS_REGION', 'AWS_PROFILE', 'AWS_SESSION_TOKEN']) vi.stubEnv(name, undefined);
      vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent');
      await openStore('s3://bucket/lake').write('a', bytes);
      expect(server.bucket('bucket').objects.has('lake/a')).toBe(true);
      vi.stubEnv('AWS_ENDPOINT_URL_S3', 'user:secret@host');
      expect(() => openStore('s3://bucket/lake')).toThrow(/^expected a URL such as (?!.*secret)/);
    } finally {
      vi.unstubAllEnvs();
      await server.close();
    }
  });
});
