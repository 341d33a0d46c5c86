import type { MetaData } from '../delta/actions.js';
import type { DataFile } from '../delta/data-file.js';
import type { TableState } from './grown-schema.js';
import type { Snapshot } from './snapshot.js';

/** A table in a snapshot of the lake. It never changes. */
export class TableSnapshot {
  readonly #lake: Snapshot;
  readonly #table: string;

  constructor(lake: Snapshot, table: string) {
    this.#lake = lake;
    this.#table = table;
  }

  get #state(): TableState | undefined {
    return this.#lake.tables.get(this.#table);
  }

  /** The table's newest published version; -1 where there is no table yet. */
  get version(): number {
    return (this.#state?.versions ?? 0) - 1;
  }

  get metaData(): MetaData | undefined {
    return this.#state?.metaData;
  }

  /** The files of all accounts. */
  files(): Iterable<DataFile> {
    return this.#lake.files(this.#table);
  }

  /** The files of an account. */
  filesOf(account: string): Iterable<DataFile> {
    return this.#lake.filesOf(this.#table, account).values();
  }

  /** The file with a path in the table's log. */
  file(path: string): DataFile | undefined {
    return this.#lake.file(this.#table, path);
  }

  /** The files of an account and pipeline with any of these load keys. */
  filesWith(account: string, pipeline: string, loadKeys: Iterable<string>): DataFile[] {
    const files = this.#index(account).byLoadKey.get(pipeline);
    const found = new Set<DataFile>();
    for (const loadKey of loadKeys) for (const add of files?.get(loadKey) ?? []) found.add(add);
    return [...found];
  }

  /** The files of an account whose rows are derived from a main table's file, by that one's path within the lake. */
  derivedFrom(account: string, path: string): readonly DataFile[] {
    return this.#index(account).byMain.get(path) ?? [];
  }

  #index(account: string): FileIndex {
    const files = this.#lake.filesOf(this.#table, account);
    let index = indexes.get(files);
    if (index === undefined) indexes.set(files, (index = indexOf(files.values())));
    return index;
  }
}

/** An account's files in a table. */
interface FileIndex {
  /** By pipeline, then by load key. */
  readonly byLoadKey: ReadonlyMap<string, ReadonlyMap<string, readonly DataFile[]>>;
  /** By the main table's file that they are derived from. */
  readonly byMain: ReadonlyMap<string, readonly DataFile[]>;
}

/** Snapshots share the files of a table and account that a commit leaves alone. */
const indexes = new WeakMap<ReadonlyMap<string, DataFile>, FileIndex>();

function indexOf(files: Iterable<DataFile>): FileIndex {
  const byLoadKey = new Map<string, Map<string, DataFile[]>>();
  const byMain = new Map<string, DataFile[]>();
  for (const add of files) {
    const pipeline = add.pipeline;
    let keys = byLoadKey.get(pipeline);
    if (keys === undefined) byLoadKey.set(pipeline, (keys = new Map<string, DataFile[]>()));
    for (const loadKey of add.loadKeys) append(keys, loadKey, add);
    const main = add.main;
    if (main !== undefined) append(byMain, main, add);
  }
  return { byLoadKey, byMain };
}

function append(lists: Map<string, DataFile[]>, key: string, add: DataFile): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [add]);
  else list.push(add);
}
