import { LedgerlakeError } from '../../core/errors.js';

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
    (path.split('/', 1)[0] === temporaryFolder ? `\`${temporaryFolder}\` is the store's own` : undefined);
  if (fault !== undefined) {
    throw new LedgerlakeError(
      'LAKE_STORE',
      `Expected a path within the lake such as \`entries/_delta_log/x.json\`, got ${JSON.stringify(path)}: ${fault}`,
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

/** Below 0, 0 or above 0 as `a` stands before, at or behind `b` in the order of their UTF-8 bytes, which is S3's. */
export function compareBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * Which part of `size` bytes a range stands for; a negative start counts from the end and stops at the first byte.
 *
 * @throws RangeError for anything but whole numbers and a length below 0
 */
export function sliceOf(size: number, start: number, length: number): { readonly from: number; readonly to: number } {
  checkRange(start, length);
  const from = Math.min(start < 0 ? Math.max(0, size + start) : start, size);
  return { from, to: Math.min(size, from + length) };
}

/** Throws a RangeError for anything but a whole start and a whole length of 0 or more. */
export function checkRange(start: number, length: number): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(length) || length < 0) {
    throw new RangeError(`Expected a whole start and a length of 0 or more, got ${start} and ${length}`);
  }
}
