import { createHash } from 'node:crypto';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../core/duckdb/connection.js';
import type { Store } from '../store/store.js';
import { threadLimits, threadLimitsOf, type ThreadLimits } from '../../core/worker-thread.js';

/** What work on files may hold in memory. */
export interface Limits {
  /** What DuckDB may hold of all: `1GB`. */
  readonly memory: string;
  /** Bytes of rows that DuckDB sorts, compares or writes at once: over wide rows it runs out of memory before it spills. */
  readonly rangeBytes: number;
  /** Bytes of `raw` that are flattened at once: more than a part of an import has, so that none of its files is split. */
  readonly rawBytes: number;
  /** From which size on a second thread writes Parquet, which holds memory of its own. */
  readonly thread: ThreadLimits;
}

export const defaultLimits: Limits = {
  memory: '1GB',
  rangeBytes: 16_000_000,
  rawBytes: 10_000_000,
  thread: threadLimits,
};

/** Limits with so many threads at most; undefined: as they are. */
export function withThreads<T extends Limits>(limits: T, threads: number | undefined): T {
  return threads === undefined ? limits : { ...limits, thread: threadLimitsOf(threads) };
}

/** A DuckDB and a folder of the local disk, for files on their way out of a lake and back into it. */
export interface Workspace {
  readonly database: Database;
  readonly limits: Limits;
  /** Takes bytes in as a local file; its name. */
  readonly writeLocal: (bytes: Uint8Array) => Promise<string>;
  /** A name for a file, or a folder of files, that is about to be written. */
  readonly newPath: () => string;
  /** Removes the files that are there by now. */
  readonly clear: () => Promise<void>;
}

/**
 * Uses a workspace for a lake's files and removes it. Its DuckDB reaches the lake, where it is on the local disk, and the
 * workspace, and nothing else. Throws what `use` throws.
 *
 * @param makeFolder makes the folder for it; by default a new one
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
  const clear = async () => {
    await rm(files, { recursive: true, force: true });
    await mkdir(files, { mode: 0o700 });
  };
  try {
    await clear();
    const database = lazyDatabase(async () => {
      const { openDatabase } = await import('../../core/duckdb/connection.js');
      return openDatabase({
        folders: [folder, store.localPath('') ?? folder],
        settings: {
          // The same rows give the same bytes then, whatever machine they are written on.
          threads: 1,
          memory_limit: limits.memory,
          preserve_insertion_order: true,
          // Files are read once or twice: what DuckDB would keep of them only fills its memory.
          enable_external_file_cache: false,
        },
      });
    });
    try {
      return await use({ database, limits, writeLocal: localWriter(newPath), newPath, clear });
    } finally {
      database.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Makes a lake's own folder on the local disk, for a run that is alone on the lake. What a run that was killed left in it is
 * removed first.
 *
 * @throws the file system's error, also where somebody else has just made a folder of that name
 */
export async function makeLakeFolder(store: Store): Promise<string> {
  const hash = createHash('sha256').update(store.address('x')).digest('hex').slice(0, 16);
  const folder = join(tmpdir(), `ledgerlake-${hash}`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  return folder;
}

function localWriter(newPath: () => string): Workspace['writeLocal'] {
  return async (bytes) => {
    const path = newPath();
    await writeFile(path, bytes, { mode: 0o600 });
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
      for (const path of paths) await rm(path, { recursive: true, force: true });
      paths.clear();
    },
  };
}

/** Opened by the first query: loading DuckDB takes longer, and more memory, than all that a small backfill or import does. */
function lazyDatabase(open: () => Promise<Database>): Database {
  let opening: Promise<Database> | undefined;
  let opened: Database | undefined;
  const database = async () => (opened = await (opening ??= open()));
  return {
    query: async (...query) => (await database()).query(...query),
    execute: async (...query) => (await database()).execute(...query),
    rows: async (...query) => (await database()).rows(...query),
    openConnection: async () => (await database()).openConnection(),
    close: () => {
      opened?.close();
    },
  };
}

/** Whoever gives up waits for nothing more: what fails then is reported by the error that it gave up for. */
export function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/**
 * A lake's file as one of the local disk, whatever its bytes: the lake's own, or a copy under a fresh name. Undefined where
 * there is none.
 */
export async function localFile(store: Store, path: string, newPath: () => string): Promise<string | undefined> {
  const localPath = store.localPath(path);
  const bytes = await (localPath === undefined ? store.read(path) : store.readRange(path, 0, 1));
  if (bytes === undefined || localPath !== undefined) return bytes && localPath;
  return localWriter(newPath)(bytes);
}
