import { createHash, randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { Bucket } from './bucket.js';
import { type S3Call, Faults } from './faults.js';
import { oddities, type OddityName } from './oddities.js';
import { type S3Request, type S3Response, operationOf, operations } from './operations.js';
import { S3Refusal } from './refusal.js';
import { type Credentials, checkSignature } from './signature.js';
import { xml } from './xml.js';

export interface S3Server {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  /** The only ones it lets in; a new secret for each server. */
  readonly credentials: Credentials;
  /** What a process needs in its environment to find it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly faults: Faults;
  /** Every request so far that was let in, those that failed too. */
  readonly calls: S3Call[];
  /** Most results on a page of a list; S3's own is 1000. */
  pageSize: number;
  /** Milliseconds before each answer. */
  delayMs: number;
  /** How it differs from S3. */
  oddity: OddityName | undefined;
  /** Throws for a bucket that it doesn't have. */
  bucket(name: string): Bucket;
  close(): Promise<void>;
}

/**
 * S3 over real HTTP on loopback, in memory: what a lake's store uses of it, with checked signatures and checksums, and
 * faults on demand. Path style only, as it has no names below its own.
 */
export async function startS3Server(...buckets: readonly string[]): Promise<S3Server> {
  const held = new Map(buckets.map((name) => [name, new Bucket()]));
  const credentials = { accessKeyId: 'ledgerlake', secretAccessKey: randomUUID() };
  const faults = new Faults();
  const calls: S3Call[] = [];

  const server = createServer((incoming, response) => {
    void answer(incoming, response).catch((error: unknown) => {
      const { status, code } = error instanceof S3Refusal ? error : new S3Refusal(500, 'InternalError');
      respond(response, { status, body: xml('Error', { Code: code, Message: `Told so: ${code}` }) });
    });
  });

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
    const { method = '', url = '', headers } = incoming;
    checkSignature({ method, url, headers, body }, credentials);
    const request = requestOf(incoming, body);
    const call = { operation: operationOf(request), key: request.key, headers, query: request.query };
    calls.push(call);
    const fault = faults.take(call);
    if (fault?.kind === 'refuse') throw new S3Refusal(fault.status, fault.code);
    if (fault?.kind === 'close') return void incoming.socket.destroy();
    if (fault?.kind === 'wait') await fault.until;
    if (started.delayMs > 0) await setTimeout(started.delayMs);
    if (fault?.kind === 'first') fault.run();
    const { oddity } = started;
    const done = (oddity === undefined ? carryOut : oddities[oddity](carryOut))(request, call.operation);
    if (fault?.kind === 'refuse after') throw new S3Refusal(fault.status, fault.code);
    if (fault?.kind === 'close after') return void incoming.socket.destroy();
    if (fault?.kind === 'cut') cut(response, done);
    else respond(response, done);
  };

  const bucket = (name: string): Bucket => {
    const found = held.get(name);
    if (found === undefined) throw new S3Refusal(404, 'NoSuchBucket');
    return found;
  };

  const carryOut = (request: S3Request, operation: string): S3Response => {
    const run = operations[operation];
    const found = bucket(request.bucket);
    if (run === undefined) throw new S3Refusal(501, 'NotImplemented');
    checkIntegrity(request);
    return run(found, request, started.pageSize);
  };

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const started: S3Server = {
    endpoint,
    credentials,
    environment: {
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    faults,
    calls,
    pageSize: 1000,
    delayMs: 0,
    oddity: undefined,
    bucket,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return started;
}

function requestOf({ method = '', url = '', headers }: IncomingMessage, body: Uint8Array): S3Request {
  const [path = '', query = ''] = url.split('?');
  const [, bucket = '', ...key] = path.split('/').map(decodeURIComponent);
  return { method, bucket, key: key.join('/'), query: new URLSearchParams(query), headers, body };
}

/** The body against the checksums that came with it. */
function checkIntegrity({ headers, body }: S3Request): void {
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32(body));
  const sums = { 'x-amz-checksum-crc32': crc, 'content-md5': createHash('md5').update(body).digest() };
  for (const [name, sum] of Object.entries(sums)) {
    if (headers[name] !== undefined && headers[name] !== sum.toString('base64')) throw new S3Refusal(400, 'BadDigest');
  }
}

function respond(response: ServerResponse, { status, headers, body = '' }: S3Response): void {
  if (response.destroyed) return;
  const length = headers?.['content-length'] ?? String(Buffer.byteLength(body));
  response.writeHead(status, { ...headers, 'content-length': length }).end(body);
}

/** Half of the body, and then nothing more. */
function cut(response: ServerResponse, { status, headers, body = '' }: S3Response): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
}
