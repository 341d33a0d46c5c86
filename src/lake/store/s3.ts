import { randomUUID } from 'node:crypto';
import type * as Sdk from '@aws-sdk/client-s3';
import { type Clock, systemClock } from '../../core/clock.js';
import { type LedgerlakeError, usageError } from '../../core/errors.js';
import { answerOf, isUnclear, s3Failure, s3Unclear } from './s3-failure.js';
import { checkFolder, checkPath, checkRange, sliceOf, temporaryFolder } from './store.js';
import type { Store, StoredFile } from './store.js';
import { dayMs } from '../../core/windows.js';

/** What is not given comes from the AWS SDK's own environment and files. */
export interface S3Options {
  readonly clock?: Clock;
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** How often a request is sent before its failure counts; default AWS_MAX_ATTEMPTS or 6. */
  readonly maxAttempts?: number;
  /** Called for every request sent, retries too, with the operation's name: `PutObject`. */
  readonly onCall?: (operation: string) => void;
}

const mebibyte = 1 << 20;
/** Bodies above this are sent in parts, so that a broken connection costs one part. */
const singlePutBytes = 32 * mebibyte;
const partBytes = 16 * mebibyte;
const partsAtOnce = 3;
/** Longest silence on an open connection; completing an upload may take S3 a while. */
const silenceMs = 60_000;
const connectMs = 10_000;
/** Of the metadata by which a put knows its object again. */
const tokenName = 'ledgerlake-writer';
/** Further tries after `409 ConditionalRequestConflict`, and for a body that breaks off. */
const furtherTries = 5;

interface Connection {
  readonly sdk: typeof Sdk;
  readonly client: Sdk.S3Client;
}

interface GetResult {
  readonly bytes: Uint8Array;
  /** Whether the service kept to the range; without one, or where it doesn't know ranges, it sends everything. */
  readonly partial: boolean;
}

/**
 * A lake on S3 or a service that speaks it. Bodies are buffers, so their length and checksum go in the headers: some
 * services refuse streamed ones. A whole object or a completed upload appears at once, and `create` is a put with
 * `If-None-Match: *`, which the service must honour.
 *
 * @throws LedgerlakeError USAGE where `location` isn't `s3://BUCKET/PREFIX`
 */
export function s3Store(location: string, options: S3Options = {}): Store {
  const { bucket: Bucket, prefix } = parseS3Location(location);
  const clock = options.clock ?? systemClock;
  const endpoint = endpointOf(options.endpoint);
  const target = { bucket: Bucket, endpoint: endpoint?.host };
  const keyOf = (path: string): string => {
    checkPath(path);
    return prefix + path;
  };
  const address = (path: string): string => {
    checkFolder(path);
    return `s3://${Bucket}/${prefix}${path}`;
  };
  const failure = (verb: string, path: string, error: unknown): LedgerlakeError =>
    s3Failure(verb, `s3://${Bucket}/${prefix}${path}`, error, target);

  let connecting: Promise<Connection> | undefined;
  // On first use: most commands never touch S3, and the SDK takes a quarter of a second to load.
  const connection = (): Promise<Connection> => (connecting ??= connect(options, endpoint));

  const get = async (path: string, Range?: string): Promise<GetResult | undefined> => {
    const Key = keyOf(path);
    for (let attempt = 0; ; attempt++) {
      try {
        const { client, sdk } = await connection();
        const got = await client.send(new sdk.GetObjectCommand({ Bucket, Key, Range }));
        const bytes = await bytesOf(got.Body);
        return { bytes, partial: got.ContentRange !== undefined };
      } catch (error) {
        if (error instanceof BrokenBody && attempt < furtherTries) continue;
        const { name, status } = answerOf(error);
        if (name === 'NoSuchKey') return undefined;
        // The object is there, but the range holds none of its bytes.
        if (status === 416) return { bytes: new Uint8Array(0), partial: true };
        throw failure('read', path, error instanceof BrokenBody ? error.cause : error);
      }
    }
  };

  /**
   * Whether the object is the one of an earlier put of ours whose answer was lost; undefined where S3 doesn't say. Such
   * puts have a unique token in the metadata, so that two writers of equal bytes are distinguished.
   */
  const isOurs = async ({ client, sdk }: Connection, Key: string, token: string): Promise<boolean | undefined> =>
    client.send(new sdk.HeadObjectCommand({ Bucket, Key })).then(
      ({ Metadata }) => Metadata?.[tokenName] === token,
      () => undefined,
    );

  const putParts = async ({ client, sdk }: Connection, Key: string, bytes: Uint8Array): Promise<void> => {
    const token = randomUUID();
    const { UploadId } = await client.send(
      new sdk.CreateMultipartUploadCommand({ Bucket, Key, Metadata: { [tokenName]: token } }),
    );
    const upload = { Bucket, Key, UploadId };
    try {
      const Parts = await uploadParts(bytes, partBytes, partsAtOnce, async (PartNumber, Body) => {
        const sent = await client.send(new sdk.UploadPartCommand({ ...upload, PartNumber, Body }));
        const checksum = sent.ChecksumCRC32 === undefined ? {} : { ChecksumCRC32: sent.ChecksumCRC32 };
        return { PartNumber, ETag: sent.ETag, ...checksum };
      });
      await client.send(new sdk.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
    } catch (error) {
      // A completion whose answer was lost leaves its retry no upload to complete, but the object.
      const answer = answerOf(error);
      if ((answer.attempts > 1 || isUnclear(answer)) && (await isOurs({ client, sdk }, Key, token)) === true) return;
      // What can't be aborted now is vacuumed after a day; why the upload failed is what the user must hear.
      await client.send(new sdk.AbortMultipartUploadCommand(upload)).catch(() => undefined);
      throw error;
    }
  };

  /** The conditional put of `create`: whether we won. */
  const putOnce = async ({ client, sdk }: Connection, Key: string, bytes: Uint8Array): Promise<boolean> => {
    const token = randomUUID();
    const input = { Bucket, Key, Body: bytes, IfNoneMatch: '*', Metadata: { [tokenName]: token } };
    const seen = { doubt: false };
    for (let conflicts = 0; ; conflicts++) {
      const command = new sdk.PutObjectCommand(input);
      // The SDK sends again by itself and shows only the last answer, but any of them leaves the doubt.
      command.middlewareStack.add(
        (next) => (args) =>
          next(args).catch((error: unknown) => {
            if (isUnclear(answerOf(error))) seen.doubt = true;
            throw error;
          }),
        { step: 'finalizeRequest', priority: 'low' },
      );
      try {
        await client.send(command);
        return true;
      } catch (error) {
        const { status } = answerOf(error);
        // What stands in the way may be our own first attempt's.
        const ours = seen.doubt && status === 412 ? await isOurs({ client, sdk }, Key, token) : false;
        if (status === 412 && ours !== undefined) return ours;
        // 409: another put of the same name is under way, and S3 asks to try again.
        if (status === 409 && conflicts < furtherTries) await clock.sleep(50 * 2 ** conflicts);
        else if (seen.doubt || status === 409) throw s3Unclear(`s3://${Bucket}/${Key}`, error);
        else throw error;
      }
    }
  };

  return {
    location,
    address,
    localPath: () => undefined,

    read: async (path) => (await get(path))?.bytes,

    readRange: async (path, start, length) => {
      checkRange(start, length);
      // An empty range can't be asked for, but whether the file is there can.
      const got = await get(path, start < 0 ? `bytes=${start}` : `bytes=${start}-${start + Math.max(length, 1) - 1}`);
      if (got === undefined) return undefined;
      // What came for a range begins at `start`, so only an end or a `length` of 0 is left to cut.
      const { from, to } = sliceOf(got.bytes.length, got.partial && start > 0 ? 0 : start, length);
      return got.bytes.subarray(from, to);
    },

    write: async (path, bytes) => {
      try {
        const Key = keyOf(path);
        const { client, sdk } = await connection();
        if (bytes.length > singlePutBytes) await putParts({ client, sdk }, Key, bytes);
        else await client.send(new sdk.PutObjectCommand({ Bucket, Key, Body: bytes }));
      } catch (error) {
        throw failure('write', path, error);
      }
    },

    create: async (path, bytes) => {
      try {
        return await putOnce(await connection(), keyOf(path), bytes);
      } catch (error) {
        throw failure('write', path, error);
      }
    },

    list: async function* (folder, after): AsyncIterable<StoredFile> {
      checkFolder(folder);
      const Prefix = folder === '' ? prefix : `${prefix}${folder}/`;
      let ContinuationToken: string | undefined;
      do {
        const input = { Bucket, Prefix, StartAfter: after && prefix + after, ContinuationToken };
        const page = await connection()
          .then(({ client, sdk }) => client.send(new sdk.ListObjectsV2Command(input)))
          .catch((error: unknown) => {
            throw failure('list', folder, error);
          });
        for (const { Key, Size, LastModified } of page.Contents ?? []) {
          const path = Key?.slice(prefix.length) ?? '';
          // Consoles mark folders by empty objects with a slash at the end.
          if (path === '' || path.endsWith('/') || path.startsWith(`${temporaryFolder}/`)) continue;
          yield { path, size: Size ?? 0, modifiedAt: LastModified?.getTime() ?? 0 };
        }
        ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      } while (ContinuationToken !== undefined);
    },

    remove: async (path) => {
      const Key = keyOf(path);
      try {
        const { client, sdk } = await connection();
        await client.send(new sdk.DeleteObjectCommand({ Bucket, Key }));
      } catch (error) {
        if (answerOf(error).name !== 'NoSuchKey') throw failure('remove', path, error);
      }
    },

    removeUnfinished: async (all = false) => {
      try {
        return await abortUploads(await connection(), Bucket, prefix, all ? Infinity : clock.now() - dayMs);
      } catch (error) {
        throw failure('clear unfinished uploads below', '', error);
      }
    },
  };
}

async function connect(options: S3Options, endpoint: URL | undefined): Promise<Connection> {
  // Node 20 is supported here and the SDK's version is pinned, so its call to upgrade only gets between our own lines.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const sdk = await import('@aws-sdk/client-s3');
  const { region, credentials, maxAttempts, onCall } = options;
  const config: Sdk.S3ClientConfig = {
    requestHandler: { connectionTimeout: connectMs, socketTimeout: silenceMs },
    ...(endpoint === undefined ? {} : { endpoint: endpoint.href, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
  };
  if (maxAttempts !== undefined) config.maxAttempts = maxAttempts;
  else if (process.env['AWS_MAX_ATTEMPTS'] === undefined) config.maxAttempts = 6;
  if (region !== undefined) config.region = region;
  else if (endpoint !== undefined) {
    // Services other than Amazon's mostly have one region, and people leave it out.
    config.region = () => new sdk.S3Client({}).config.region().catch(() => 'us-east-1');
  }
  const client = new sdk.S3Client(config);
  if (onCall !== undefined) {
    client.middlewareStack.add(
      (next, context) => (args) => {
        onCall(String(context.commandName).replace(/Command$/, ''));
        return next(args);
      },
      { step: 'finalizeRequest', priority: 'low' },
    );
  }
  return { sdk, client };
}

/** A body that broke off: the request as a whole is worth another try. */
class BrokenBody extends Error {}

async function bytesOf(body: { transformToByteArray(): Promise<Uint8Array> } | undefined): Promise<Uint8Array> {
  try {
    return (await body?.transformToByteArray()) ?? new Uint8Array(0);
  } catch (error) {
    throw new BrokenBody('The body broke off', { cause: error });
  }
}

/** Aborts the uploads below a prefix that were begun before an instant; how many. */
async function abortUploads({ client, sdk }: Connection, Bucket: string, Prefix: string, before: number) {
  let aborted = 0;
  let marker = {};
  for (;;) {
    const page = await client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix, ...marker }));
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      if (Initiated === undefined || Initiated.getTime() >= before) continue;
      try {
        await client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
        aborted++;
      } catch (error) {
        // Another vacuum was faster.
        if (answerOf(error).name !== 'NoSuchUpload') throw error;
      }
    }
    if (page.IsTruncated !== true) return aborted;
    marker = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}

/**
 * Sends a body in parts of `size` bytes, `concurrency` at once; resolves to what `send` gave for each, in order. Parts
 * are numbered from 1. After a failure no further part is begun, and it rejects once those under way have ended, so
 * that whoever clears up isn't overtaken by one of them.
 */
export async function uploadParts<T>(
  bytes: Uint8Array,
  size: number,
  concurrency: number,
  send: (number: number, part: Uint8Array) => Promise<T>,
): Promise<T[]> {
  const count = Math.ceil(bytes.length / size);
  const sent = new Array<T>(count);
  let next = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    while (next < count && !failed) {
      const at = next++;
      try {
        sent[at] = await send(at + 1, bytes.subarray(at * size, (at + 1) * size));
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(concurrency, count) }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return sent;
}

/** A lake's location on S3. */
export interface S3Location {
  readonly bucket: string;
  /** What every key begins with: `''`, or names with a slash behind each. */
  readonly prefix: string;
}

/**
 * Reads `s3://BUCKET/PREFIX`; slashes at the end don't matter, and without a prefix the lake is the whole bucket.
 *
 * @throws LedgerlakeError USAGE for anything else
 */
function parseS3Location(location: string): S3Location {
  const [, bucket, rest] = /^s3:\/\/([^/]+)(?:\/(.*))?$/su.exec(location) ?? [];
  const names = (rest ?? '').replace(/\/+$/, '').split('/');
  const prefix = names[0] === '' && names.length === 1 ? '' : `${names.join('/')}/`;
  const bad = names.some((name) => name === '.' || name === '..' || (name === '' && prefix !== ''));
  if (bucket === undefined || !/^[A-Za-z0-9][A-Za-z0-9._-]+$/.test(bucket) || bad || /[\p{Cc}\\?#]/u.test(prefix)) {
    throw usageError(`expected a lake on S3 as s3://BUCKET or s3://BUCKET/PREFIX, got ${JSON.stringify(location)}`);
  }
  return { bucket, prefix };
}

/**
 * The endpoint that is given or configured, as the SDK looks for it in the environment; undefined: Amazon's own.
 *
 * @throws LedgerlakeError USAGE where it isn't an http or https URL
 */
export function endpointOf(endpoint: string | undefined): URL | undefined {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS } = process.env;
  const configured = AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true' ? [] : [AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL];
  // A variable that is set to nothing is one that isn't set.
  const given = [endpoint, ...configured].find((url) => url !== undefined && url !== '');
  if (given === undefined) return undefined;
  // The text itself may hold a password, so it isn't repeated.
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) {
    throw usageError(
      'expected a URL such as http://localhost:9000 as S3 endpoint, got something else; check AWS_ENDPOINT_URL_S3',
    );
  }
  return new URL(given);
}
