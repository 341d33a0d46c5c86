import { connectionFaultOf } from '../../core/connections/connection-fault.js';
import { LedgerlakeError, messageOf } from '../../core/errors.js';

/** The figures of a failed S3 call, as far as its error has them. */
export interface S3Answer {
  /** S3's code (`NoSuchKey`), else the error's own name. */
  readonly name: string;
  /** The system's code (`ECONNREFUSED`) where there was no answer. */
  readonly code: string | undefined;
  /** HTTP status where there was an answer. */
  readonly status: number | undefined;
  readonly attempts: number;
}

/** Reads the error of an S3 call, of any type. */
export function answerOf(error: unknown): S3Answer {
  const fields = typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
  const metadata = (fields['$metadata'] ?? {}) as Record<string, unknown>;
  const status = metadata['httpStatusCode'];
  const attempts = metadata['attempts'];
  const code = fields['code'];
  return {
    name: typeof fields['name'] === 'string' ? fields['name'] : 'Error',
    code: typeof code === 'string' ? code : undefined,
    status: typeof status === 'number' ? status : undefined,
    attempts: typeof attempts === 'number' ? attempts : 1,
  };
}

/** Whether a failed request may have been executed: no answer, or an internal error of S3. */
export function isUnclear({ name, code, status }: S3Answer): boolean {
  if (status !== undefined && status !== 200) return (status >= 500 && status !== 501) || name === 'RequestTimeout';
  return status === 200 || (code !== undefined && !neverSent.has(code)) || name === 'TimeoutError';
}

/** Codes of connections that were never established, so that no request was sent. */
const neverSent = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);

const badCredentials = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'ExpiredToken',
  'InvalidToken',
  'TokenRefreshRequired',
  'CredentialsProviderError',
  'TokenProviderError',
]);

/** Whether the credentials are right and may not do what was asked. */
export function isDenied({ name, status }: S3Answer): boolean {
  return status === 403 && !badCredentials.has(name) && name !== wrongClock;
}

/** Whether S3 may have refused a header of the request. */
export function mayRefuseChecksum({ status }: S3Answer): boolean {
  return status === 400 || status === 501;
}

const wrongClock = 'RequestTimeTooSkewed';

const otherRegion = new Set([
  'PermanentRedirect',
  'TemporaryRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);

export interface S3Target {
  readonly bucket: string;
  /** The endpoint's host; undefined for Amazon S3. */
  readonly endpoint: string | undefined;
  /** Whether new objects ask for an encryption. */
  readonly isEncrypted: boolean;
}

/**
 * The error for a failed S3 call, in one line: what was tried, what was answered, what to check. S3's text is only in
 * the details; keys and tokens are never included.
 */
export function s3Failure(verb: string, address: string, error: unknown, target: S3Target): LedgerlakeError {
  if (error instanceof LedgerlakeError) return error;
  const answer = answerOf(error);
  return new LedgerlakeError('LAKE_STORE', `cannot ${verb} ${address}: ${refusalReason(answer, error, verb, target)}`, {
    ...printedCause(error),
    ...(answer.status === undefined ? {} : { status: answer.status }),
  });
}

/** The error for a conditional put of which it is unknown whether it was, or will be, executed. */
export function s3Unclear(address: string, error: unknown): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_UNCLEAR',
    `cannot tell whether ${address} was written: S3 closed the connection before it answered; run the command again, which checks it`,
    printedCause(error),
  );
}

/** Name and text only: the SDK's errors refer to the request's headers with the session token, and causes are printed. */
function printedCause(error: unknown): { readonly cause: Error; readonly details: string } {
  const details = `${answerOf(error).name}: ${messageOf(error)}`;
  return { cause: new Error(details), details };
}

/** A policy that demands an encryption denies a put as one does that lacks the permission. */
const encryptionAdvice =
  '; where the bucket demands an encryption, set `sse` and `kmsKey`, whose key needs kms:GenerateDataKey and kms:Decrypt';

function refusalReason(answer: S3Answer, error: unknown, verb: string, target: S3Target): string {
  const { bucket, endpoint, isEncrypted } = target;
  const { name, code, status } = answer;
  const endpointName = endpoint ?? 'Amazon S3';
  if (name === 'NoSuchBucket') {
    return `there is no bucket \`${bucket}\` at ${endpointName}; create it, or check --lake and AWS_ENDPOINT_URL_S3`;
  }
  if (badCredentials.has(name)) {
    return `S3 credentials are missing, wrong or expired (${name}); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN or AWS_PROFILE`;
  }
  if (messageOf(error).includes('Region is missing')) {
    return 'no region is configured; set AWS_REGION to the region of the bucket';
  }
  if (otherRegion.has(name) || status === 301) {
    return `bucket \`${bucket}\` is in another region (${name}); set AWS_REGION to the region of the bucket`;
  }
  if (name === wrongClock) return "this machine's clock differs too much from the clock of S3; correct it";
  if (status === 403) {
    return `bucket \`${bucket}\` refuses these credentials (${name}); they need s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListBucket and s3:ListBucketMultipartUploads on it${verb === 'write' ? encryptionAdvice : ''}`;
  }
  if (name.startsWith('KMS')) return `the key of the setting \`kmsKey\` can't be used (${name}); check it`;
  if (status === 501 || status === 411) {
    const encryption = isEncrypted ? ' and the encryption of the setting `sse`' : '';
    return `${endpointName} does not support what a lake needs (${name}); use a service with conditional writes${encryption}`;
  }
  if (status !== undefined && status >= 500) {
    return `${endpointName} keeps answering ${status} ${name}; try again later`;
  }
  if (status !== undefined && status !== 200) return `${endpointName} answered ${status} ${name}; see --verbose`;
  const fault = connectionFaultOf(error);
  if (fault !== undefined) return `${endpointName} can't be reached: ${fault.what}; ${fault.todo}`;
  if (code !== undefined || name === 'TimeoutError') {
    return `${endpointName} can't be reached or closed the connection (${code ?? name}); check the network, AWS_ENDPOINT_URL_S3 and AWS_REGION`;
  }
  return `${endpointName} returned no usable answer (${name}); see --verbose`;
}
