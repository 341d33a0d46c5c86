import { shortHash } from '../../core/short-hash.js';
import { lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeNewFile } from '../../core/io/write-file.js';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import type { Database, QueryResult } from '../../core/duckdb/connection.js';
import type { Store } from '../store/store.js';
import { threadLimits, threadLimitsOf, type ThreadLimits } from '../../core/worker-thread.js';

/** Memory limits for the processing of files. */
export interface Limits {
  /** DuckDB's memory limit: `1GB`. */
  readonly memory: string;
  /** Bytes of rows that DuckDB sorts, compares or writes at once: over wide rows it runs out of memory before it spills. */
  readonly rangeBytes: number;
  /** Bytes of `raw` that are flattened at once: more than a chunk of an import has, so that none of its files is split. */
  readonly rawBytes: number;
  /** Limits for the threads that write Parquet, which have their own memory. */
  readonly thread: ThreadLimits;
}

export const defaultLimits: Limits = {
  memory: '1GB',
  rangeBytes: 16_000_000,
  rawBytes: 10_000_000,
  thread: threadLimits,
};

/** The same limits with another number of threads; undefined: unchanged. */
export function withThreads<T extends Limits>(limits: T, threads: number | undefined): T {
  return threads === undefined ? limits : { ...limits, thread: threadLimitsOf(threads) };
}

/** A DuckDB and a local folder, for files that are read from a lake and written back. */
export interface Workspace {
  readonly database: Database;
  readonly limits: Limits;
  /** Writes bytes to a local file. Returns its path. */
  readonly writeLocal: (bytes: Uint8Array) => Promise<string>;
  /** A new path for a file or folder. */
  readonly newPath: () => string;
  /** By a file's path: the error that replaces DuckDB's about it, whose first line is `text`. */
  readonly faults: Map<string, (text: string) => LedgerlakeError>;
  /** Removes all files. */
  readonly clear: () => Promise<void>;
}

/**
 * Creates a workspace for a lake's files, calls `use` and removes it. Its DuckDB can access the workspace, and the lake
 * where it is on the local disk, and nothing else. Throws what `use` throws.
 *
 * @param makeFolder creates the folder; by default a new temporary one
 */
export async function withWorkspace<T>(
  limits: Limits,
  store: Pick<Store, 'localPath'>,
  use: (workspace: Workspace) => Promise<T>,
  makeFolder: () => Promise<string> = () => mkdtemp(join(tmpdir(), 'ledgerlake-files-')),
): Promise<T> {
  const folder = await makeFolder();
  const files = join(folder, 'files');
  let count = 0;
  const newPath = () => join(files, `${count++}.parquet`);
  const faults: Workspace['faults'] = new Map();
  const clear = async () => {
    faults.clear();
    await rm(files, { recursive: true, force: true });
    await mkdir(files, { mode: 0o700 });
  };
  try {
    await clear();
    const database = lazyDatabase(faults, async () => {
      const { openDatabase } = await import('../../core/duckdb/connection.js');
      return openDatabase({
        folders: [folder, store.localPath('') ?? folder],
        settings: {
          // So that the same rows give the same bytes on every machine.
          threads: 1,
          memory_limit: limits.memory,
          preserve_insertion_order: true,
          // Files are read once or twice: a cache would only use memory.
          enable_external_file_cache: false,
        },
      });
    });
    try {
      return await use({ database, limits, writeLocal: localWriter(newPath), newPath, faults, clear });
    } finally {
      database.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Creates the local folder of a lake, for an exclusive run. Remains of this user's killed runs are removed first.
 *
 * @throws the file system's error
 */
export async function makeLakeFolder(store: Store): Promise<string> {
  const hash = shortHash(store.address('x'));
  const prefix = `ledgerlake-${hash}`;
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const remains = join(tmpdir(), name);
    // Other users of this machine may create folders of any name.
    const isOwn = await lstat(remains).then(
      ({ uid }) => uid === (process.getuid?.() ?? uid),
      () => false,
    );
    if (isOwn) await rm(remains, { recursive: true, force: true });
  }
  return mkdtemp(join(tmpdir(), `${prefix}-`));
}

function localWriter(newPath: () => string): Workspace['writeLocal'] {
  return async (bytes) => {
    const path = newPath();
    await writeNewFile(path, bytes, { mode: 0o600 });
    return path;
  };
}

/** The same workspace for one of several concurrent tasks, each of which removes its own files. */
export function subWorkspace(workspace: Workspace): Workspace {
  const paths = new Set<string>();
  const newPath = () => {
    const path = workspace.newPath();
    paths.add(path);
    return path;
  };
  return {
    ...workspace,
    newPath,
    writeLocal: localWriter(newPath),
    clear: async () => {
      for (const path of paths) {
        await rm(path, { recursive: true, force: true });
        workspace.faults.delete(path);
      }
      paths.clear();
    },
  };
}

/**
 * A database that the first query opens: loading DuckDB takes more time and memory than a small backfill or import. Its errors
 * about a file with a fault are those of `faults`.
 */
function lazyDatabase(faults: Workspace['faults'], open: () => Promise<Database>): Database {
  let opening: Promise<Database> | undefined;
  let opened: Database | undefined;
  const database = async () => (opened = await (opening ??= open()));
  const fault = (error: unknown): never => {
    for (const [path, faultOf] of error instanceof LedgerlakeError ? faults : []) {
      const [text = ''] = messageOf(error).split('\n');
      if (text.includes(path)) throw faultOf(text.replaceAll(path, 'it'));
    }
    throw error;
  };
  const namedChunks = async function* (chunks: QueryResult['chunks']): QueryResult['chunks'] {
    try {
      yield* chunks;
    } catch (error) {
      fault(error);
    }
  };
  return {
    query: async (...query) => {
      const result = await (await database()).query(...query).catch(fault);
      return { ...result, chunks: namedChunks(result.chunks) };
    },
    execute: async (...query) => (await database()).execute(...query).catch(fault),
    rows: async (...query) => (await database()).rows(...query).catch(fault),
    openConnection: async () => (await database()).openConnection(),
    close: () => {
      opened?.close();
    },
  };
}

/** Marks a promise's rejection as handled, for a promise that is awaited later, or not at all after another error. */
export function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
