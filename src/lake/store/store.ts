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
 * Every method throws a `LedgerlakeError` with code LAKE_STORE when the place can't be read or written.
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
   * Throws LAKE_UNCLEAR when the place doesn't say who won: the file may be there, then or later.
   */
  create(path: string, bytes: Uint8Array): Promise<boolean>;
  /** All files below a folder (`''`: the whole lake), by name in byte order; with `after` only those behind that path. */
  list(folder: string, after?: string): AsyncIterable<StoredFile>;
  /** Removes the file; one that isn't there is fine. */
  remove(path: string): Promise<void>;
  /**
   * Clears what dead writers left half-written, never what a living one still writes; how many files that were. `all`:
   * nobody else writes, so that what can't be told to be a dead writer's goes too, and with it empty folders of
   * partitions, where the place has folders.
   */
  removeUnfinished(all?: boolean): Promise<number>;
}
