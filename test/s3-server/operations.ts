import type { Bucket } from './bucket.js';
import { S3Refusal } from './refusal.js';
import { xml } from './xml.js';

export interface S3Request {
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

export interface S3Response {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

type Operation = (bucket: Bucket, request: S3Request, pageSize: number) => S3Response;

/** Which operation a request is, as the SDK names it. */
export function operationOf({ method, key, query }: S3Request): string {
  if (key === '') {
    if (method === 'GET') return query.has('uploads') ? 'ListMultipartUploads' : 'ListObjectsV2';
    if (method === 'PUT') return 'CreateBucket';
  } else {
    if (method === 'GET') return 'GetObject';
    if (method === 'HEAD') return 'HeadObject';
    if (method === 'PUT') return query.has('uploadId') ? 'UploadPart' : 'PutObject';
    if (method === 'DELETE') return query.has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject';
    if (method === 'POST') return query.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload';
  }
  return 'Unknown';
}

/** What a lake's store uses of S3, by the SDK's names. */
export const operations: Readonly<Record<string, Operation>> = {
  PutObject: (bucket, { key, headers, body }) => {
    const condition = headers['if-none-match'];
    if (condition !== undefined && condition !== '*') throw new S3Refusal(501, 'NotImplemented');
    const { etag } = bucket.put(key, body, metadataOf(headers), condition === '*');
    return { status: 200, headers: { etag } };
  },

  GetObject: (bucket, { key, headers }) => {
    const { bytes, etag, metadata, modifiedAt } = bucket.get(key);
    const common = { etag, 'last-modified': new Date(modifiedAt).toUTCString(), ...metadataHeaders(metadata) };
    const range = rangeOf(headers['range'], bytes.length);
    if (range === undefined) return { status: 200, headers: common, body: bytes };
    const [from, to] = range;
    const contentRange = `bytes ${from}-${to - 1}/${bytes.length}`;
    return { status: 206, headers: { ...common, 'content-range': contentRange }, body: bytes.subarray(from, to) };
  },

  HeadObject: (bucket, { key }) => {
    const { bytes, etag, metadata } = bucket.get(key);
    return { status: 200, headers: { etag, 'content-length': String(bytes.length), ...metadataHeaders(metadata) } };
  },

  DeleteObject: (bucket, { key }) => {
    bucket.objects.delete(key);
    return { status: 204 };
  },

  ListObjectsV2: (bucket, { query }, pageSize) => {
    if (query.get('list-type') !== '2') throw new S3Refusal(501, 'NotImplemented');
    const limit = Math.min(pageSize, Number(query.get('max-keys') ?? pageSize));
    const token = query.get('continuation-token');
    const after = token === null ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString();
    const { keys, folders, next } = bucket.list(query.get('prefix') ?? '', query.get('delimiter') ?? '', after, limit);
    return {
      status: 200,
      body: xml('ListBucketResult', {
        KeyCount: keys.length + folders.length,
        IsTruncated: next !== undefined,
        NextContinuationToken: next && Buffer.from(next).toString('base64url'),
        Contents: keys.map((key) => {
          const { bytes, etag, modifiedAt } = bucket.get(key);
          return { Key: key, Size: bytes.length, ETag: etag, LastModified: new Date(modifiedAt).toISOString() };
        }),
        CommonPrefixes: folders.map((Prefix) => ({ Prefix })),
      }),
    };
  },

  CreateMultipartUpload: (bucket, { key, headers }) => ({
    status: 200,
    body: xml('InitiateMultipartUploadResult', { Key: key, UploadId: bucket.begin(key, metadataOf(headers)).id }),
  }),

  UploadPart: (bucket, { key, query, body }) => {
    const etag = bucket.part(query.get('uploadId') ?? '', key, Number(query.get('partNumber')), body);
    return { status: 200, headers: { etag } };
  },

  CompleteMultipartUpload: (bucket, { key, query, body }) => {
    const named = [
      ...Buffer.from(body)
        .toString()
        .matchAll(/<Part>(.*?)<\/Part>/gsu),
    ].map(([, part = '']) => ({
      number: Number(/<PartNumber>(\d+)</.exec(part)?.[1]),
      etag: (/<ETag>([^<]+)</.exec(part)?.[1] ?? '').replaceAll('&quot;', '"'),
    }));
    const { etag } = bucket.complete(query.get('uploadId') ?? '', key, named);
    return { status: 200, body: xml('CompleteMultipartUploadResult', { Key: key, ETag: etag }) };
  },

  AbortMultipartUpload: (bucket, { key, query }) => {
    bucket.uploads.delete(bucket.upload(query.get('uploadId') ?? '', key).id);
    return { status: 204 };
  },

  ListMultipartUploads: (bucket, { query }, pageSize) => {
    const place = (key: string, id: string): string => `${key}\0${id}`;
    const marker = place(query.get('key-marker') ?? '', query.get('upload-id-marker') ?? '');
    const uploads = [...bucket.uploads.values()]
      .filter(({ key, id }) => key.startsWith(query.get('prefix') ?? '') && place(key, id) > marker)
      .sort((a, b) => (place(a.key, a.id) < place(b.key, b.id) ? -1 : 1));
    const page = uploads.slice(0, pageSize);
    return {
      status: 200,
      body: xml('ListMultipartUploadsResult', {
        IsTruncated: uploads.length > page.length,
        NextKeyMarker: page.at(-1)?.key,
        NextUploadIdMarker: page.at(-1)?.id,
        Upload: page.map(({ key, id, initiatedAt }) => ({
          Key: key,
          UploadId: id,
          Initiated: new Date(initiatedAt).toISOString(),
        })),
      }),
    };
  },
};

const metadataPrefix = 'x-amz-meta-';

function metadataOf(headers: S3Request['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => name.startsWith(metadataPrefix))
      .map(([name, value]) => [name.slice(metadataPrefix.length), String(value)]),
  );
}

function metadataHeaders(metadata: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [metadataPrefix + name, value]));
}

/** First byte and the one behind the last, or undefined for the whole; RFC 9110, section 14.1.2. */
function rangeOf(header: string | string[] | undefined, size: number): readonly [number, number] | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(String(header)) ?? [];
  if (first === undefined || last === undefined || first + last === '') return undefined;
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  if (from >= to) throw new S3Refusal(416, 'InvalidRange');
  return [from, to];
}
