import { resolve } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { diskStore } from './disk.js';
import type { S3Options } from './s3-bucket.js';
import { s3Store } from './s3.js';
import type { Store, S3Encryption } from './store.js';

export interface StoreOptions {
  /** Measures the age of files. */
  readonly clock?: Clock;
  /** Of new objects on S3; undefined: as the bucket has it. */
  readonly encryption?: S3Encryption | undefined;
  /** Receives what the storage can't do and the lake can do without. */
  readonly emit?: Emit | undefined;
  /** Overrides the environment. */
  readonly s3?: Omit<S3Options, 'clock' | 'encryption' | 'emit'>;
}

/** Stores that aren't folders of this machine. */
const remoteStores = [{ prefix: 's3://', open: s3Store, moveWords: ['aws', 's3', 'mv'] }] as const;

function remoteStore(location: string): (typeof remoteStores)[number] | undefined {
  return remoteStores.find(({ prefix }) => location.startsWith(prefix));
}

/** Whether a location is that of a store elsewhere, and no folder. */
export function isRemote(location: string): boolean {
  return remoteStore(location) !== undefined;
}

/** The command by which a user moves a file of the store at a location, without the file's old and new address. */
export function moveWords(location: string): readonly string[] {
  return remoteStore(location)?.moveWords ?? ['mv', '--'];
}

/**
 * The store at a location as users write it: `s3://BUCKET/PREFIX`, or a folder's path. Nothing is read or written yet.
 *
 * @throws LedgerlakeError USAGE for an empty location, an incomplete `s3://` one, or another kind of URL
 */
export function openStore(location: string, { clock, encryption, emit, s3 }: StoreOptions = {}): Store {
  const timed = clock === undefined ? {} : { clock };
  const remote = remoteStore(location);
  if (remote !== undefined) return remote.open(location, { ...s3, ...timed, encryption, emit });
  if (location === '' || location.includes('\0') || isUrl(location)) {
    const hint = location.includes('://') || !location.includes(':') ? '' : `; a folder of that name is ./${location}`;
    throw usageError(
      `expected the lake as a folder's path or as s3://BUCKET/PREFIX, got ${JSON.stringify(location)}${hint}`,
    );
  }
  return diskStore(location, timed);
}

/** The absolute path of a lake's folder, resolved from `from`; undefined for a URL. */
export function lakeFolder(location: string, from = ''): string | undefined {
  return isUrl(location) ? undefined : resolve(from, location);
}

/** Also `s3:/bucket` and `s3:bucket`, which are mistyped buckets and not folders. */
function isUrl(location: string): boolean {
  return /^([a-z][a-z0-9+.-]*:\/\/|s3:|s3\/\/)/i.test(location);
}
