import type { DataFile } from '../delta/data-file.js';
import { shortHash } from '../../core/short-hash.js';
import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, rename, rm, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { LedgerlakeError, systemCode } from '../../core/errors.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { isTemporaryName, temporaryPath, writeNewFile } from '../../core/io/write-file.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { diskStore } from '../store/disk.js';
import type { Store } from '../store/store.js';
import { checkedFile, damageOf } from './local-file.js';

/** Where files of lakes on S3 are kept on this machine. */
export interface CacheSettings {
  readonly folder: string;
  /** What all files together may have. */
  readonly bytes: number;
}

/** How far a fetch is. */
export interface FetchProgress {
  readonly files: number;
  readonly bytes: number;
  readonly doneBytes: number;
}

/** Files that are fetched at once. */
const mostAtOnce = 8;
/** A file that stands for those of a partition that aren't fetched. */
const emptyName = 'not-fetched.parquet';
/** Unfinished files of killed processes are removed after this time. */
const abandonedMs = 24 * 3_600_000;

/**
 * Copies of a lake's files on this machine, at the same paths. The name of a data file is used once, so that a copy stays right. Several
 * processes may use it at once: a file gets its name once it is whole. The files that were used last stay.
 */
export class FileCache {
  /** The copy of the lake. */
  readonly folder: string;
  readonly #settings: CacheSettings;
  readonly #store: Store;
  readonly #copy: Store;
  /** Files whose size and hash were compared by this process. */
  readonly #checked = new Set<string>();

  constructor(store: Store, settings: CacheSettings) {
    this.#settings = settings;
    this.#store = store;
    this.folder = join(resolve(settings.folder), shortHash(JSON.stringify([store.endpoint, store.address('')])));
    this.#copy = diskStore(this.folder);
  }

  /** The local path of a file, whether it is there or not. */
  localPath(file: DataFile): string {
    return join(this.folder, file.lakePath);
  }

  /** The local path of an empty file in the partition of a file. */
  async emptyFile(file: DataFile): Promise<string> {
    const path = join(dirname(this.localPath(file)), emptyName);
    if (existsSync(path)) return path;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeNewFile(path, '', { mode: 0o600 }).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error;
    });
    return path;
  }

  /**
   * Fetches the files that aren't there, and marks all as used. What is complete stays where it is cancelled.
   *
   * @throws LedgerlakeError SQL where they have more than the cache may have; LAKE_STORE for a file that is damaged or missing; the
   * reason of `signal`
   */
  async fetch(
    files: readonly DataFile[],
    signal?: AbortSignal,
    onProgress: (progress: FetchProgress) => void = () => undefined,
  ): Promise<void> {
    const all = files.reduce((sum, { size }) => sum + size, 0);
    if (all > this.#settings.bytes) throw tooLarge(files, all, this.#settings);
    const lacking: DataFile[] = [];
    await eachOf(files, async (file) => {
      signal?.throwIfAborted();
      if (!(await this.#use(file))) lacking.push(file);
    });
    const bytes = lacking.reduce((sum, { size }) => sum + size, 0);
    let doneBytes = 0;
    await eachOf(lacking, async (file) => {
      signal?.throwIfAborted();
      await this.#copyFile(file);
      doneBytes += file.size;
      onProgress({ files: lacking.length, bytes, doneBytes });
    });
    if (lacking.length > 0) await this.#evict(new Set(files.map((file) => this.localPath(file))));
  }

  /** Removes the copies of what no version of the lake has any more: forgotten accounts first of all. */
  async keep(snapshot: Pick<Snapshot, 'keeps'>): Promise<void> {
    for (const { path } of await filesIn(this.folder)) {
      const own = path.slice(this.folder.length + 1);
      if (
        !own.endsWith(`/${emptyName}`) &&
        !isTemporaryName(own.slice(own.lastIndexOf('/') + 1)) &&
        !snapshot.keeps(own)
      )
        await rm(path, { force: true });
    }
  }

  /** Whether a file is there; its time is that of its last use then. */
  async #use(file: DataFile): Promise<boolean> {
    const path = this.localPath(file);
    const now = new Date();
    try {
      await utimes(path, now, now);
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return false;
      throw error;
    }
    if (this.#checked.has(path)) return true;
    if ((await damageOf(this.#copy, file)) !== undefined) return false;
    this.#checked.add(path);
    return true;
  }

  async #copyFile(file: DataFile): Promise<void> {
    const path = this.localPath(file);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const part = temporaryPath(path);
    try {
      await checkedFile(this.#store, file, { newPath: () => part, faults: new Map() });
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
    this.#checked.add(path);
  }

  /** Removes the files that were used longest ago, of all lakes, until the others fit. */
  async #evict(used: ReadonlySet<string>): Promise<void> {
    const files = await filesIn(resolve(this.#settings.folder));
    let sum = files.reduce((bytes, { size }) => bytes + size, 0);
    for (const { path, size, usedAt } of files.toSorted((one, other) => one.usedAt - other.usedAt)) {
      const isPart = isTemporaryName(path.slice(path.lastIndexOf('/') + 1));
      const isAbandoned = isPart && usedAt < Date.now() - abandonedMs;
      if (!isAbandoned && (sum <= this.#settings.bytes || isPart || size === 0 || used.has(path))) continue;
      await rm(path, { force: true });
      this.#checked.delete(path);
      sum -= size;
    }
  }
}

/** The size of a cache, and how many files it has. */
export async function cacheSize({
  folder,
}: CacheSettings): Promise<{ readonly files: number; readonly bytes: number }> {
  const files = (await filesIn(resolve(folder))).filter(({ size }) => size > 0);
  return { files: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0) };
}

/** The folders of lakes in a cache; nothing else is removed with it. */
export async function clearCache({ folder }: CacheSettings): Promise<void> {
  for (const entry of await readdir(resolve(folder), { withFileTypes: true }).catch(noEntries)) {
    if (entry.isDirectory() && /^[0-9a-f]{16}$/.test(entry.name))
      await rm(join(resolve(folder), entry.name), { recursive: true, force: true });
  }
}

interface CachedFile {
  readonly path: string;
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly usedAt: number;
}

/** The files below a folder. Links aren't followed. */
async function filesIn(folder: string): Promise<readonly CachedFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(noEntries);
  const files: CachedFile[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // Another process may have removed it.
    const found = await lstat(path).catch(() => undefined);
    if (found !== undefined) files.push({ path, size: found.size, usedAt: found.mtimeMs });
  }
  return files;
}

function noEntries(error: unknown): [] {
  if (systemCode(error) === 'ENOENT') return [];
  throw error;
}

/** Calls `use` for each item, several at once, until one fails; throws its error once all have ended. */
async function eachOf<T>(items: readonly T[], use: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (const item of queue) {
      if (failures.length > 0) return;
      await use(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: mostAtOnce }, work));
  if (failures.length > 0) throw failures[0];
}

function tooLarge(files: readonly DataFile[], bytes: number, settings: CacheSettings): LedgerlakeError {
  const names = [...new Set(files.map(({ table }) => table))].join(', ');
  return new LedgerlakeError(
    'SQL',
    `expected files that fit the cache of ${formatBytes(settings.bytes)}, got ${formatCount(files.length, 'file')} of ${names} with ` +
      `${formatBytes(bytes)}; narrow the query by account or month, or set cacheGigabytes`,
  );
}
