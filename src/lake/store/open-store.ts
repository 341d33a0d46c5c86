import { resolve } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { diskStore } from './disk.js';
import type { S3Options } from './s3-bucket.js';
import { s3 } from './s3.js';
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

/** A kind of stores that aren't folders of this machine. */
interface RemoteStore {
  /** What users call it: `S3`. */
  readonly name: string;
  /** How its locations begin: `s3:`. */
  readonly scheme: string;
  /** How its locations are written: `s3://BUCKET/PREFIX`. */
  readonly form: string;
  /** The command by which a user moves a file, without the file's old and new address. */
  readonly moveWords: readonly string[];
  /** Throws a LedgerlakeError USAGE for an incomplete location. */
  readonly open: (location: string, options: StoreOptions) => Store;
}

const remoteStores: readonly RemoteStore[] = [s3];

/** How locations are written that are no folders. */
export const remoteForm = remoteStores.map(({ form }) => form).join(' or ');

/** The names of the stores that aren't on this machine. */
export const remoteNames = remoteStores.map(({ name }) => name).join(' or ');

function remoteStore(location: string): RemoteStore | undefined {
  return remoteStores.find(({ scheme }) => location.startsWith(`${scheme}//`));
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
 * The store at a location as users write it: a folder's path, or a URL. Nothing is read or written yet.
 *
 * @throws LedgerlakeError USAGE for an empty location, an incomplete URL, or another kind of URL
 */
export function openStore(location: string, options: StoreOptions = {}): Store {
  const remote = remoteStore(location);
  if (remote !== undefined) return remote.open(location, options);
  if (location === '' || location.includes('\0') || isUrl(location)) {
    const hint = location.includes('://') || !location.includes(':') ? '' : `; a folder of that name is ./${location}`;
    throw usageError(
      `expected the lake as a folder's path or as ${remoteForm}, got ${JSON.stringify(location)}${hint}`,
    );
  }
  const { clock } = options;
  return diskStore(location, clock === undefined ? {} : { clock });
}

/** The absolute path of a lake's folder, resolved from `from`; undefined for a URL. */
export function lakeFolder(location: string, from = ''): string | undefined {
  return isUrl(location) ? undefined : resolve(from, location);
}

/** Also `s3:/bucket`, `s3:bucket` and `s3//bucket`, which are mistyped buckets and not folders. */
function isUrl(location: string): boolean {
  const given = location.toLowerCase();
  const isMistyped = ({ scheme }: RemoteStore) =>
    given.startsWith(scheme) || given.startsWith(`${scheme.slice(0, -1)}//`);
  return /^[a-z][a-z0-9+.-]*:\/\//.test(given) || remoteStores.some(isMistyped);
}
