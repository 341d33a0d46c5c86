import { LedgerlakeError } from '../../core/errors.js';

/** A file of the lake. */
export interface StoredFile {
  /** Relative to the lake, with forward slashes. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
  /** When its bytes, name or attributes changed last, which no program can set: on the local disk only. */
  readonly changedAt?: number;
}

/**
 * The storage of a lake. Paths are relative to the lake, with forward slashes; folders are created as needed. Nothing
 * outside of the lake is read, listed, written or removed: no path leads there, and links aren't followed. Every method
 * throws a `LedgerlakeError` with code LAKE_STORE where the storage can't be read or written.
 */
export interface Store {
  /** The lake as a user writes it: a path, or a URL. */
  readonly location: string;
  /** The service that has the lake, where that isn't the usual one of such stores. */
  readonly endpoint?: string | undefined;
  /** The address of a path for DuckDB: an absolute file name or a URL; for `''` that of the lake. Never outside of the lake. */
  address(path: string): string;
  /** The absolute file name of a path where the lake is on the local disk; otherwise undefined. */
  localPath(path: string): string | undefined;
  /** The file's bytes; undefined where there is none. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** `length` bytes from `start` on, fewer at the end of the file; a negative `start` counts from the end. */
  readRange(path: string, start: number, length: number): Promise<Uint8Array | undefined>;
  /** Writes or replaces the file atomically: visible to all and durable once it resolves. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /**
   * Writes the file unless it exists: true for exactly one of several concurrent callers, false for the others. Throws
   * LAKE_UNCLEAR where it is unknown who won: the file may exist, now or later; LAKE_STORE where the storage would
   * overwrite an existing file. `existing`: a file that never changes, by which a store that can't know checks that once.
   */
  create(path: string, bytes: Uint8Array, existing?: string): Promise<boolean>;
  /** All files below a folder (`''`: the whole lake), in byte order of their paths; with `after` only those behind that path. */
  list(folder: string, after?: string): AsyncIterable<StoredFile>;
  /** Removes the file; a missing one is no error. */
  remove(path: string): Promise<void>;
  /**
   * Removes the partial files of dead writers, never those of active ones. Returns their number. `all`: no other writer
   * is active, so that partial files of unknown writers are removed as well, and empty partition folders, where the
   * store has folders. S3 may refuse it: then they stay, and an event says so.
   */
  removeUnfinished(all?: boolean): Promise<number>;
}

/** Whether a file exists. */
export async function hasFile(store: Pick<Store, 'readRange'>, path: string): Promise<boolean> {
  return (await store.readRange(path, 0, 1)) !== undefined;
}

/**
 * Parses the JSON of a note in a lake; undefined where it is missing or damaged. Notes aren't essential, because the
 * log is authoritative.
 */
export function parseNote<T>(
  note: Uint8Array | string | undefined,
  parse: (value: unknown) => T | undefined,
): T | undefined {
  if (note === undefined) return undefined;
  try {
    return parse(JSON.parse(typeof note === 'string' ? note : Buffer.from(note).toString('utf8')));
  } catch {
    return undefined;
  }
}

/** The folder of a lake on disk for files that are being written. No store lists it. */
export const temporaryFolder = '_tmp';

/**
 * Checks a file's path within a lake: relative, forward slashes, no `.` or `..`, nothing that a disk or S3 would
 * interpret differently.
 *
 * @throws LedgerlakeError LAKE_STORE naming the path
 */
export function checkPath(path: string): void {
  const fault =
    pathFault(path) ??
    (path.split('/', 1)[0] === temporaryFolder ? `\`${temporaryFolder}\` is reserved for the store` : undefined);
  if (fault !== undefined) {
    throw new LedgerlakeError(
      'LAKE_STORE',
      `expected a path within the lake such as \`entries/_delta_log/x.json\`, got ${JSON.stringify(path)}: ${fault}`,
    );
  }
}

/** Checks a folder's path within a lake; `''` is the whole lake. Throws as `checkPath` does. */
export function checkFolder(path: string): void {
  if (path !== '') checkPath(path);
}

/** Why a text is no path within a folder; undefined where it is valid. */
export function pathFault(path: string): string | undefined {
  if (path === '') return 'it is empty';
  if (path.startsWith('/')) return 'it is absolute';
  if (path.includes('\\')) return 'it has a backslash';
  if (/\p{Cc}/u.test(path)) return 'it has a control character';
  // A lone surrogate has no UTF-8: two such names would become equal.
  if (/\p{Surrogate}/u.test(path)) return 'it has half a surrogate pair';
  const names = path.split('/');
  if (names.includes('')) return 'it has an empty name between slashes';
  if (names.includes('.') || names.includes('..')) return 'it has `.` or `..`';
  return undefined;
}

/** Compares texts in the order of their UTF-8 bytes, which is S3's order. */
export function compareBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * Limits a range to `size` bytes; a negative start counts from the end, at most to the first byte.
 *
 * @throws RangeError for anything but integers, and for a negative length
 */
export function clampRange(
  size: number,
  start: number,
  length: number,
): { readonly from: number; readonly to: number } {
  checkRange(start, length);
  const from = Math.min(start < 0 ? Math.max(0, size + start) : start, size);
  return { from, to: Math.min(size, from + length) };
}

/** Throws a RangeError for anything but an integer start and an integer length of 0 or more. */
export function checkRange(start: number, length: number): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(length) || length < 0) {
    throw new RangeError(`expected a whole start and a length of 0 or more, got ${start} and ${length}`);
  }
}

/** What S3 encrypts objects with, by its own names. */
export const sseAlgorithms = ['AES256', 'aws:kms', 'aws:kms:dsse'] as const;

/** The encryption that every new object of a lake on S3 asks for. */
export interface S3Encryption {
  readonly sse: (typeof sseAlgorithms)[number];
  /** Id or ARN of a key of KMS; undefined: the account's default. */
  readonly kmsKey?: string | undefined;
}
