import { LedgerlakeError } from '../../core/errors.js';
/** A file of the lake. */
export interface StoredFile {
  /** Relative to the lake, with forward slashes. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/**
 * Where a lake's bytes are. Paths are relative to the lake, with forward slashes, and folders need not be made. Nothing
 * outside of the lake is read, listed, written or removed: no path leads there, and no link is followed.
 * Every method throws a `LedgerlakeError` with code LAKE_STORE when it can't be read or written.
 */
export interface Store {
  /** The lake as a user writes it: a path, or `s3://bucket/prefix`. */
  readonly location: string;
  /**
   * What DuckDB opens for a path: an absolute file name, or an `s3://` address; for `''` the lake's own. Never anything
   * outside of the lake.
   */
  address(path: string): string;
  /** The absolute name of a path's file where the lake is on the local disk; undefined where it is elsewhere. */
  localPath(path: string): string | undefined;
  /** The file's bytes, or undefined where there is none. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** `length` bytes from `start` on, fewer at the end of the file; a negative `start` counts from the end. */
  readRange(path: string, start: number, length: number): Promise<Uint8Array | undefined>;
  /** Writes the file anew: all or nothing, seen by everyone and safe from a crash once it resolves. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /**
   * Writes the file if there is none: true for exactly one of all callers, however they race, false for the rest.
   * Throws LAKE_UNCLEAR when it isn't clear who won: the file may be there, then or later.
   */
  create(path: string, bytes: Uint8Array): Promise<boolean>;
  /** All files below a folder (`''`: the whole lake), by name in byte order; with `after` only those behind that path. */
  list(folder: string, after?: string): AsyncIterable<StoredFile>;
  /** Removes the file; one that isn't there is fine. */
  remove(path: string): Promise<void>;
  /**
   * Clears what dead writers left half-written, never what a living one still writes; how many files that were. `all`:
   * nobody else writes, so that what can't be told to be a dead writer's goes too, and with it empty folders of
   * partitions, where the store has folders.
   */
  removeUnfinished(all?: boolean): Promise<number>;
}

/**
 * What a note in a lake says, once `parse` has taken its JSON; undefined where there is none, or it isn't as it was written:
 * then it is as good as none, as the log says what counts.
 */
export function parseNote<T>(bytes: Uint8Array | undefined, parse: (value: unknown) => T | undefined): T | undefined {
  if (bytes === undefined) return undefined;
  try {
    return parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch {
    return undefined;
  }
}

/** Folder below a lake on disk where files are written before they get their names. No store lists it. */
export const temporaryFolder = '_tmp';

/**
 * Checks a file's path within a lake: relative, forward slashes, no `.` or `..`, nothing that a disk or S3 would read
 * as another name.
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

/** Why something is no path within a folder; undefined where it is one. */
export function pathFault(path: string): string | undefined {
  if (path === '') return 'it is empty';
  if (path.startsWith('/')) return 'it is absolute';
  if (path.includes('\\')) return 'it has a backslash';
  if (/\p{Cc}/u.test(path)) return 'it has a control character';
  // Half a pair has no UTF-8 of its own: two such names would end up as one.
  if (/\p{Surrogate}/u.test(path)) return 'it has half a surrogate pair';
  const names = path.split('/');
  if (names.includes('')) return 'it has an empty name between slashes';
  if (names.includes('.') || names.includes('..')) return 'it has `.` or `..`';
  return undefined;
}

/** Below 0, 0 or above 0 as `a` is before, at or behind `b` in the order of their UTF-8 bytes, which is S3's. */
export function compareBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * Which part of `size` bytes a range stands for; a negative start counts from the end and stops at the first byte.
 *
 * @throws RangeError for anything but whole numbers and a length below 0
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

/** Throws a RangeError for anything but a whole start and a whole length of 0 or more. */
export function checkRange(start: number, length: number): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(length) || length < 0) {
    throw new RangeError(`expected a whole start and a length of 0 or more, got ${start} and ${length}`);
  }
}
