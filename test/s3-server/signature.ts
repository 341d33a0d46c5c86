import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { S3Refusal } from './refusal.js';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface SignedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/** Checks the AWS Signature Version 4 in the headers and the body's hash in it; throws what S3 answers to a wrong one. */
export function checkSignature(request: SignedRequest, credentials: Credentials): void {
  const { headers } = request;
  const authorization =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  const [, id, day, region, names, signature] = authorization ?? [];
  if (id === undefined || day === undefined || region === undefined || names === undefined || signature === undefined) {
    throw new S3Refusal(403, 'AccessDenied');
  }
  if (id !== credentials.accessKeyId) throw new S3Refusal(403, 'InvalidAccessKeyId');
  const payload = String(headers['x-amz-content-sha256']);
  if (payload.startsWith('STREAMING-')) throw new S3Refusal(411, 'MissingContentLength');
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(request.body)) {
    throw new S3Refusal(400, 'XAmzContentSHA256Mismatch');
  }
  const signed = names.split(';');
  if (!signed.includes('host')) throw new S3Refusal(403, 'SignatureDoesNotMatch');
  const [path = '', query = ''] = request.url.split('?');
  const canonical = [
    request.method,
    path,
    query
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
      .sort()
      .join('&'),
    ...signed.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}`),
    '',
    names,
    payload,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${String(headers['x-amz-date'])}\n${scope}\n${sha256(Buffer.from(canonical))}`;
  const key = [day, region, 's3', 'aws4_request'].reduce<Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    Buffer.from(`AWS4${credentials.secretAccessKey}`),
  );
  const expected = createHmac('sha256', key).update(text).digest();
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) throw new S3Refusal(403, 'SignatureDoesNotMatch');
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
