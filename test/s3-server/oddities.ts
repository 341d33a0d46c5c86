import type { S3Request, S3Response } from './operations.js';
import { S3Refusal } from './refusal.js';

type Answer = (request: S3Request, operation: string) => S3Response;
type Oddity = (usual: Answer) => Answer;

const puts: readonly string[] = ['PutObject', 'CreateMultipartUpload'];

const refusing =
  (refused: (request: S3Request, operation: string) => boolean, status: number, code: string): Oddity =>
  (usual) =>
  (request, operation) => {
    if (refused(request, operation)) throw new S3Refusal(status, code);
    return usual(request, operation);
  };

const lists = (_: S3Request, operation: string): boolean => operation === 'ListMultipartUploads';

/** Ways in which services that speak S3, and policies on S3, differ from what the store of a lake would like best. */
export const oddities = {
  /** A policy without `s3:ListBucketMultipartUploads`. */
  'uploads-denied': refusing(lists, 403, 'AccessDenied'),
  'uploads-unsupported': refusing(lists, 501, 'NotImplemented'),
  /** Who may list a part of the bucket only isn't told that a key is missing. */
  'missing-denied': (usual) => (request, operation) => {
    try {
      return usual(request, operation);
    } catch (error) {
      if (error instanceof S3Refusal && error.code === 'NoSuchKey') throw new S3Refusal(403, 'AccessDenied');
      throw error;
    }
  },
  /** Checksums other than Content-MD5 are unknown. */
  'checksum-refused': refusing(
    ({ headers }) => Object.keys(headers).some((name) => /^x-amz-(checksum-(?!mode)|sdk-checksum)/.test(name)),
    501,
    'NotImplemented',
  ),
  /** A policy that denies puts without encryption. */
  'encryption-demanded': refusing(
    ({ headers }, operation) => puts.includes(operation) && headers['x-amz-server-side-encryption'] === undefined,
    403,
    'AccessDenied',
  ),
  'condition-ignored': (usual) => (request, operation) =>
    usual({ ...request, headers: { ...request.headers, 'if-none-match': undefined } }, operation),
  /** A page that isn't the last says so, and not where the next one begins. */
  'listing-without-token': (usual) => (request, operation) => {
    const { body, ...response } = usual(request, operation);
    if (body === undefined) return response;
    return { ...response, body: typeof body === 'string' ? body.replace(nextMarkers, '') : body };
  },
} as const satisfies Readonly<Record<string, Oddity>>;

export type OddityName = keyof typeof oddities;

const nextMarkers = /<(NextContinuationToken|NextKeyMarker|NextUploadIdMarker)>.*?<\/\1>/g;
