import { randomUUID } from 'node:crypto';
import type * as Sdk from '@aws-sdk/client-s3';
import { type Clock, systemClock } from '../../core/clock.js';
import type { Environment } from '../../core/environment.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import type { S3Encryption } from './store.js';
import { answerOf, isDenied, isUnclear, mayRefuseChecksum, s3Unclear } from './s3-failure.js';

/** Omitted options come from the AWS SDK's environment and files. */
export interface S3Options {
  readonly clock?: Clock;
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Has the variables of proxies; default: the process's. */
  readonly environment?: Environment;
  /** Maximum attempts of a request; default AWS_MAX_ATTEMPTS or 6. */
  readonly maxAttempts?: number;
  /** Undefined: as the bucket has it. */
  readonly encryption?: S3Encryption | undefined;
  /** Receives what S3 can't do and the lake can do without. */
  readonly emit?: Emit | undefined;
  /** Called for every request sent, retries included, with the operation's name: `PutObject`. */
  readonly onCall?: (operation: string) => void;
}

const mebibyte = 1 << 20;
/** Larger bodies are uploaded in parts, so that a broken connection costs one part. */
const singlePutBytes = 32 * mebibyte;
const partBytes = 16 * mebibyte;
const partsAtOnce = 3;
/** Longest silence on an open connection; completing an upload may take S3 a while. */
const silenceMs = 60_000;
const connectMs = 10_000;
/** Metadata key of the token by which a put recognizes its object. */
const tokenName = 'ledgerlake-writer';
/** Retries after `409 ConditionalRequestConflict`, and of a body that breaks off. */
const furtherTries = 5;

interface S3Connection {
  readonly sdk: typeof Sdk;
  readonly client: Sdk.S3Client;
  /** Whether requests have the SDK's checksum: CRC32, which some S3 services refuse. */
  readonly hasChecksums: boolean;
}

/**
 * Calls to a bucket, with full keys. The first call loads the SDK and the connections, which take a third of a second, because
 * most commands don't use S3. Every method throws the SDK's errors, `BrokenBody`, or a LedgerlakeError where S3 isn't fit for a lake.
 */
export class S3Bucket {
  readonly #name: string;
  readonly #endpoint: URL | undefined;
  readonly #options: S3Options;
  #connecting: Promise<S3Connection> | undefined;
  /** Without checksums; tried once S3 has refused a request that had one. */
  #plainConnecting: Promise<S3Connection> | undefined;
  /** Whether S3 is known to honour `If-None-Match: *`. */
  #isConditional = false;
  #checkingCondition: Promise<void> | undefined;

  /** @param endpoint undefined for Amazon S3 */
  constructor(name: string, endpoint: URL | undefined, options: S3Options) {
    this.#name = name;
    this.#endpoint = endpoint;
    this.#options = options;
  }

  /**
   * The object, or an HTTP `Range` of it; undefined where there is none. `partial`: the answer is only the range; a
   * service without support for ranges sends the whole object.
   */
  async get(Key: string, Range?: string): Promise<{ bytes: Uint8Array; partial: boolean } | undefined> {
    for (let breaks = 0, isListed = false; ;) {
      try {
        const { client, sdk } = await this.#connection();
        const object = await client.send(new sdk.GetObjectCommand({ Bucket: this.#name, Key, Range }));
        const bytes = await bytesOf(object.Body);
        return { bytes, partial: object.ContentRange !== undefined };
      } catch (error) {
        if (error instanceof BrokenBody && breaks++ < furtherTries) continue;
        const answer = answerOf(error);
        if (answer.name === 'NoSuchKey') return undefined;
        // The object exists, but the range has none of its bytes.
        if (answer.status === 416) return { bytes: new Uint8Array(0), partial: true };
        // A missing key is denied to who may list only a part of the bucket.
        if (!isDenied(answer) || isListed) throw error;
        isListed = await this.#isListed(Key).catch(() => {
          throw error;
        });
        if (!isListed) return undefined;
      }
    }
  }

  /** Writes or replaces the object. */
  async put(Key: string, bytes: Uint8Array): Promise<void> {
    if (bytes.length > singlePutBytes) return this.#putParts(Key, bytes);
    await this.#send(({ client, sdk }) => client.send(new sdk.PutObjectCommand({ ...this.#object(Key), Body: bytes })));
  }

  /**
   * Writes the object unless it exists. Returns whether this call wrote it. The first call checks that S3
   * honours the condition: by the object `existing`, which must never change, or without one by the object that it wrote.
   *
   * @throws LedgerlakeError LAKE_UNCLEAR where S3 doesn't say which call wrote it; LAKE_STORE where S3
   * overwrites objects that exist
   */
  async putOnce(Key: string, bytes: Uint8Array, existing?: string): Promise<boolean> {
    if (!this.#isConditional && existing !== undefined) {
      await (this.#checkingCondition ??= this.#checkCondition(existing).finally(() => {
        this.#checkingCondition = undefined;
      }));
    }
    const wrote = await this.#putUnlessThere(Key, bytes);
    if (!this.#isConditional) await this.#checkCondition(Key, bytes);
    return wrote;
  }

  /** Puts an object that exists, with its own bytes, which an S3 service that honours the condition refuses. */
  async #checkCondition(Key: string, known?: Uint8Array): Promise<void> {
    const bytes = known ?? (await this.get(Key))?.bytes;
    if (bytes === undefined) return;
    const input = { ...this.#object(Key), Body: bytes, IfNoneMatch: '*' };
    // The first one succeeds where the object was removed meanwhile.
    for (let attempt = 1; attempt <= 2 && !this.#isConditional; attempt++) {
      try {
        await this.#send(({ client, sdk }) => client.send(new sdk.PutObjectCommand({ ...input })));
      } catch (error) {
        const { status } = answerOf(error);
        if (status !== 412 && status !== 409) throw error;
        this.#isConditional = true;
      }
    }
    if (this.#isConditional) return;
    throw new LedgerlakeError(
      'LAKE_STORE',
      `expected ${this.#endpointName} to refuse a PUT with \`If-None-Match: *\` of s3://${this.#name}/${Key}, which exists, got 200: two ` +
        'runs would overwrite the commits of each other; use a service that honours the condition',
    );
  }

  async #putUnlessThere(Key: string, bytes: Uint8Array): Promise<boolean> {
    const token = randomUUID();
    const input = { ...this.#object(Key, token), Body: bytes, IfNoneMatch: '*' };
    const seen = { doubt: false };
    for (let conflicts = 0; ; conflicts++) {
      try {
        await this.#send(({ client, sdk }) => {
          const command = new sdk.PutObjectCommand({ ...input });
          // The SDK retries by itself and reports only the last answer, but any unclear answer leaves a doubt.
          command.middlewareStack.add(
            (next) => (args) =>
              next(args).catch((error: unknown) => {
                if (isUnclear(answerOf(error))) seen.doubt = true;
                throw error;
              }),
            { step: 'finalizeRequest', priority: 'low' },
          );
          return client.send(command);
        });
        return true;
      } catch (error) {
        const { status } = answerOf(error);
        if (status === 412) this.#isConditional = true;
        // The existing object may be from an earlier attempt of this call.
        const ours = seen.doubt && status === 412 ? await this.#isOurs(Key, token) : false;
        if (status === 412 && ours !== undefined) return ours;
        // 409: a concurrent put of the same key; S3 asks for a retry.
        if (status === 409 && conflicts < furtherTries) await this.#clock.sleep(50 * 2 ** conflicts);
        else if (seen.doubt || status === 409) throw s3Unclear(`s3://${this.#name}/${Key}`, error);
        else throw error;
      }
    }
  }

  /**
   * The objects below a prefix, only those behind the key `after`.
   *
   * @throws LedgerlakeError LAKE_STORE where S3 says that the listing goes on, and not where
   */
  async *list(Prefix: string, after: string | undefined): AsyncIterable<Sdk._Object> {
    const { client, sdk } = await this.#connection();
    let from: { StartAfter?: string; ContinuationToken?: string } = after === undefined ? {} : { StartAfter: after };
    for (;;) {
      const page = await client.send(new sdk.ListObjectsV2Command({ Bucket: this.#name, Prefix, ...from }));
      yield* page.Contents ?? [];
      if (page.IsTruncated !== true) return;
      const { NextContinuationToken: token = '' } = page;
      if (token === '' || token === from.ContinuationToken) {
        throw new LedgerlakeError(
          'LAKE_STORE',
          `expected ${this.#endpointName} to send a token for the next page of s3://${this.#name}/${Prefix}, because it says that the listing ` +
            `goes on, got ${token === '' ? 'none' : 'the same again'}; use a service or a version that lists whole prefixes`,
        );
      }
      from = { ContinuationToken: token };
    }
  }

  async #isListed(Key: string): Promise<boolean> {
    const { client, sdk } = await this.#connection();
    const input = { Bucket: this.#name, Prefix: Key, MaxKeys: 1 };
    const { Contents = [] } = await client.send(new sdk.ListObjectsV2Command(input));
    // A prefix comes before the longer keys that begin with it.
    return Contents[0]?.Key === Key;
  }

  /** Removes the object; a missing one is no error. */
  async remove(Key: string): Promise<void> {
    const { client, sdk } = await this.#connection();
    try {
      await client.send(new sdk.DeleteObjectCommand({ Bucket: this.#name, Key }));
    } catch (error) {
      if (answerOf(error).name !== 'NoSuchKey') throw error;
    }
  }

  /** Aborts the uploads below a prefix that are older than `age` milliseconds. Returns their number. */
  async abortUploads(Prefix: string, age: number): Promise<number> {
    const { client, sdk } = await this.#connection();
    const before = this.#clock.now() - age;
    let aborted = 0;
    let marker = {};
    for (;;) {
      const page = await client.send(new sdk.ListMultipartUploadsCommand({ Bucket: this.#name, Prefix, ...marker }));
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (Initiated === undefined || Initiated.getTime() >= before) continue;
        try {
          await client.send(new sdk.AbortMultipartUploadCommand({ Bucket: this.#name, Key, UploadId }));
          aborted++;
        } catch (error) {
          // Another vacuum has aborted it.
          if (answerOf(error).name !== 'NoSuchUpload') throw error;
        }
      }
      const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
      // Without a marker the same page would come again: the rest is left to the next vacuum.
      if (page.IsTruncated !== true || KeyMarker === undefined) return aborted;
      marker = { KeyMarker, UploadIdMarker };
    }
  }

  get #clock(): Clock {
    return this.#options.clock ?? systemClock;
  }

  get #endpointName(): string {
    return this.#endpoint?.host ?? 'Amazon S3';
  }

  /** The fields of a new object; with `token` it can be recognized. */
  #object(Key: string, token?: string) {
    const { encryption } = this.#options;
    return {
      Bucket: this.#name,
      Key,
      ...(token !== undefined && { Metadata: { [tokenName]: token } }),
      ...(encryption !== undefined && { ServerSideEncryption: encryption.sse }),
      ...(encryption?.kmsKey !== undefined && { SSEKMSKeyId: encryption.kmsKey }),
    };
  }

  #connection(): Promise<S3Connection> {
    return (this.#connecting ??= connect(this.#options, this.#endpoint));
  }

  /** Sends a request that writes. Where S3 refuses its checksum, this one and all later ones have none. */
  async #send<T>(send: (connection: S3Connection) => Promise<T>): Promise<T> {
    const connection = await this.#connection();
    let refusal: unknown;
    try {
      return await send(connection);
    } catch (error) {
      if (!connection.hasChecksums || !mayRefuseChecksum(answerOf(error))) throw error;
      refusal = error;
    }
    const plain = (this.#plainConnecting ??= connect(this.#options, this.#endpoint, 'WHEN_REQUIRED'));
    try {
      const sent = await send(await plain);
      this.#leaveOutChecksums(plain, refusal);
      return sent;
    } catch (error) {
      // It refuses something else.
      if (mayRefuseChecksum(answerOf(error))) throw refusal;
      this.#leaveOutChecksums(plain, refusal);
      throw error;
    }
  }

  #leaveOutChecksums(plain: Promise<S3Connection>, refusal: unknown): void {
    if (this.#connecting === plain) return;
    this.#connecting = plain;
    const { status, name } = answerOf(refusal);
    const reason =
      `${this.#endpointName} refuses the CRC32 checksum of the AWS SDK (${status ?? ''} ${name}), so files are sent without it; ` +
      'AWS_REQUEST_CHECKSUM_CALCULATION=WHEN_REQUIRED leaves it out from the beginning';
    this.#options.emit?.({ event: 'store-limited', reason });
  }

  async #putParts(Key: string, bytes: Uint8Array): Promise<void> {
    const token = randomUUID();
    const { UploadId } = await this.#send(({ client, sdk }) =>
      client.send(new sdk.CreateMultipartUploadCommand(this.#object(Key, token))),
    );
    const upload = { Bucket: this.#name, Key, UploadId };
    const { client, sdk } = await this.#connection();
    try {
      const Parts = await uploadParts(bytes, partBytes, partsAtOnce, async (PartNumber, Body) => {
        const part = { ...upload, PartNumber, Body };
        const sent = await this.#send((connection) => connection.client.send(new sdk.UploadPartCommand(part)));
        const checksum = sent.ChecksumCRC32 === undefined ? {} : { ChecksumCRC32: sent.ChecksumCRC32 };
        return { PartNumber, ETag: sent.ETag, ...checksum };
      });
      await client.send(new sdk.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
    } catch (error) {
      // Where the answer to the completion was lost, the retry fails, but the object exists.
      const answer = answerOf(error);
      if ((answer.attempts > 1 || isUnclear(answer)) && (await this.#isOurs(Key, token)) === true) return;
      // An upload that can't be aborted is vacuumed after a day; the error to report is that of the upload.
      await client.send(new sdk.AbortMultipartUploadCommand(upload)).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Whether the object is from an earlier put of this call whose answer was lost; undefined where S3 doesn't say. Such
   * puts have a unique token in the metadata, so that two writers of equal bytes differ.
   */
  async #isOurs(Key: string, token: string): Promise<boolean | undefined> {
    const { client, sdk } = await this.#connection();
    return client.send(new sdk.HeadObjectCommand({ Bucket: this.#name, Key })).then(
      ({ Metadata }) => Metadata?.[tokenName] === token,
      () => undefined,
    );
  }
}

async function connect(
  options: S3Options,
  endpoint: URL | undefined,
  checksums?: 'WHEN_REQUIRED',
): Promise<S3Connection> {
  // The SDK's version is pinned and supports Node 20, so its warning is disabled.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const [sdk, { connectingAgents }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('../../core/connections/connector.js'),
  ]);
  const { region, credentials, maxAttempts, onCall, environment } = options;
  const config: Sdk.S3ClientConfig = {
    requestHandler: {
      connectionTimeout: connectMs,
      socketTimeout: silenceMs,
      ...connectingAgents({ timeoutMs: connectMs, environment }),
    },
    ...(endpoint === undefined ? {} : { endpoint: endpoint.href, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(checksums === undefined ? {} : { requestChecksumCalculation: checksums }),
  };
  if (maxAttempts !== undefined) config.maxAttempts = maxAttempts;
  else if (process.env['AWS_MAX_ATTEMPTS'] === undefined) config.maxAttempts = 6;
  if (region !== undefined) config.region = region;
  else if (endpoint !== undefined) {
    // Other S3 services mostly have one region, which users omit.
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
  const hasChecksums = (await client.config.requestChecksumCalculation()) === 'WHEN_SUPPORTED';
  return { sdk, client, hasChecksums };
}

/** The connection closed within a body: the whole request can be retried. */
export class BrokenBody extends Error {}

async function bytesOf(body: { transformToByteArray(): Promise<Uint8Array> } | undefined): Promise<Uint8Array> {
  try {
    return (await body?.transformToByteArray()) ?? new Uint8Array(0);
  } catch (error) {
    throw new BrokenBody('The body broke off', { cause: error });
  }
}

/**
 * Sends a body in parts of `size` bytes, `concurrency` at once; resolves to the results of `send`, in order. Parts are
 * numbered from 1. After a failure no further part is started, and the promise rejects once the active ones have ended,
 * so that none arrives after the caller's abort.
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
  const sendInTurn = async (): Promise<void> => {
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
  const ends = await Promise.allSettled(Array.from({ length: Math.min(concurrency, count) }, sendInTurn));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return sent;
}
