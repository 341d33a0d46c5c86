import { usageError } from '../../core/errors.js';

/** A lake's place on S3. */
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
export function parseS3Location(location: string): S3Location {
  const [, bucket, rest] = /^s3:\/\/([^/]+)(?:\/(.*))?$/su.exec(location) ?? [];
  const names = (rest ?? '').replace(/\/+$/, '').split('/');
  const prefix = names[0] === '' && names.length === 1 ? '' : `${names.join('/')}/`;
  const bad = names.some((name) => name === '.' || name === '..' || (name === '' && prefix !== ''));
  if (bucket === undefined || !/^[A-Za-z0-9][A-Za-z0-9._-]+$/.test(bucket) || bad || /[\p{Cc}\\?#]/u.test(prefix)) {
    throw usageError(`Expected a lake on S3 as s3://BUCKET or s3://BUCKET/PREFIX, got ${JSON.stringify(location)}`);
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
    throw usageError('Expected a URL such as http://localhost:9000 as S3 endpoint: check AWS_ENDPOINT_URL_S3');
  }
  return new URL(given);
}
