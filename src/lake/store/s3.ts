import { usageError } from '../../core/errors.js';
import { dayMs } from '../../core/windows.js';
import { BrokenBody, S3Bucket, type S3Options } from './s3-bucket.js';
import { answerOf, isDenied, s3Failure } from './s3-failure.js';
import {
  type Store,
  type StoredFile,
  checkFolder,
  checkPath,
  checkRange,
  clampRange,
  temporaryFolder,
} from './store.js';

export const s3 = {
  name: 'S3',
  scheme: 's3:',
  form: 's3://BUCKET/PREFIX',
  moveWords: ['aws', 's3', 'mv'],
  open: (location: string, { s3: s3Options, ...options }: S3Options & { readonly s3?: S3Options }) =>
    s3Store(location, { ...s3Options, ...options }),
};

/**
 * A lake on S3 or a compatible service. Bodies are buffers, so that length and checksum are in the headers: some
 * services refuse streamed bodies. An object or a completed upload appears atomically, and `create` is a put with
 * `If-None-Match: *`, which S3 must support.
 *
 * @throws LedgerlakeError USAGE where `location` isn't `s3://BUCKET/PREFIX`
 */
export function s3Store(location: string, options: S3Options = {}): Store {
  const { bucket: name, prefix } = parseS3Location(location);
  const endpoint = s3Endpoint(options.endpoint);
  const bucket = new S3Bucket(name, endpoint, options);
  /** Whether `emit` has received that uploads are left. */
  let hasLeftUploads = false;
  const target = { bucket: name, endpoint: endpoint?.host, isEncrypted: options.encryption !== undefined };
  const objectKey = (path: string): string => {
    checkPath(path);
    return prefix + path;
  };
  const failing =
    (verb: string, path: string) =>
    (error: unknown): never => {
      const cause = error instanceof BrokenBody ? error.cause : error;
      throw s3Failure(verb, `s3://${name}/${prefix}${path}`, cause, target);
    };
  return {
    location,
    endpoint: endpoint?.href,
    address: (path) => {
      checkFolder(path);
      return `s3://${name}/${prefix}${path}`;
    },
    localPath: () => undefined,

    read: async (path) => (await bucket.get(objectKey(path)).catch(failing('read', path)))?.bytes,

    readRange: async (path, start, length) => {
      checkRange(start, length);
      return readRange(bucket, objectKey(path), start, length).catch(failing('read', path));
    },

    write: async (path, bytes) => bucket.put(objectKey(path), bytes).catch(failing('write', path)),

    create: async (path, bytes, existing) =>
      bucket.putOnce(objectKey(path), bytes, existing && objectKey(existing)).catch(failing('write', path)),

    list: async function* (folder, after) {
      checkFolder(folder);
      try {
        yield* listFiles(bucket, prefix, folder, after);
      } catch (error) {
        failing('list', folder)(error);
      }
    },

    remove: async (path) => bucket.remove(objectKey(path)).catch(failing('remove', path)),

    removeUnfinished: (all = false) =>
      bucket.abortUploads(prefix, all ? -Infinity : dayMs).catch((error: unknown) => {
        const answer = answerOf(error);
        const { status = 0 } = answer;
        if (!isDenied(answer) && status < 500 && status !== 405) failing('clear unfinished uploads below', '')(error);
        if (!hasLeftUploads) {
          const reason =
            `unfinished uploads below s3://${name}/${prefix} are not aborted, because listing or aborting them was refused (${status} ` +
            `${answer.name}); allow s3:ListBucketMultipartUploads and s3:AbortMultipartUpload, or let a rule of the bucket abort them`;
          options.emit?.({ event: 'store-limited', reason });
        }
        hasLeftUploads = true;
        return 0;
      }),
  };
}

async function readRange(
  bucket: S3Bucket,
  key: string,
  start: number,
  length: number,
): Promise<Uint8Array | undefined> {
  // HTTP has no empty range; one byte shows whether the object exists.
  const range = start < 0 ? `bytes=${start}` : `bytes=${start}-${start + Math.max(length, 1) - 1}`;
  const found = await bucket.get(key, range);
  if (found === undefined) return undefined;
  // The bytes of a range begin at `start`, so only an end or a `length` of 0 is left to cut.
  const { from, to } = clampRange(found.bytes.length, found.partial && start > 0 ? 0 : start, length);
  return found.bytes.subarray(from, to);
}

async function* listFiles(
  bucket: S3Bucket,
  prefix: string,
  folder: string,
  after: string | undefined,
): AsyncIterable<StoredFile> {
  const folderPrefix = folder === '' ? prefix : `${prefix}${folder}/`;
  for await (const { Key, Size, LastModified } of bucket.list(folderPrefix, after && prefix + after)) {
    const path = Key?.slice(prefix.length) ?? '';
    // Consoles mark folders by empty objects whose keys end with a slash.
    if (path === '' || path.endsWith('/') || path.startsWith(`${temporaryFolder}/`)) continue;
    yield { path, size: Size ?? 0, modifiedAt: LastModified?.getTime() ?? 0 };
  }
}

/**
 * Parses `s3://BUCKET/PREFIX`; trailing slashes are ignored, and without a prefix the lake is the whole bucket. The
 * `prefix` of every key is `''`, or names with a slash after each.
 *
 * @throws LedgerlakeError USAGE for anything else
 */
function parseS3Location(location: string): { readonly bucket: string; readonly prefix: string } {
  const [, bucket, rest] = /^s3:\/\/([^/]+)(?:\/(.*))?$/su.exec(location) ?? [];
  const names = (rest ?? '').replace(/\/+$/, '').split('/');
  const prefix = names[0] === '' && names.length === 1 ? '' : `${names.join('/')}/`;
  const bad = names.some((name) => name === '.' || name === '..' || (name === '' && prefix !== ''));
  if (bucket === undefined || !/^[A-Za-z0-9][A-Za-z0-9._-]{2,}$/.test(bucket) || bad || /[\p{Cc}\\?#]/u.test(prefix)) {
    const hint = bucket !== undefined && bucket.length < 3 ? "; a bucket's name has 3 to 63 characters" : '';
    throw usageError(
      `expected a lake on S3 as s3://BUCKET or s3://BUCKET/PREFIX, got ${JSON.stringify(location)}${hint}`,
    );
  }
  return { bucket, prefix };
}

/**
 * The endpoint by the options or the SDK's environment variables; undefined for Amazon S3.
 *
 * @throws LedgerlakeError USAGE where it isn't an http or https URL
 */
export function s3Endpoint(endpoint?: string): URL | undefined {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS } = process.env;
  const configured = AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true' ? [] : [AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL];
  // An empty variable counts as unset.
  const given = [endpoint, ...configured].find((url) => url !== undefined && url !== '');
  if (given === undefined) return undefined;
  // The text may contain a password, so it isn't quoted.
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) {
    throw usageError(
      'expected a URL such as http://localhost:9000 as S3 endpoint, got something else; check AWS_ENDPOINT_URL_S3',
    );
  }
  return new URL(given);
}
