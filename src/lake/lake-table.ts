import type { Table } from '../core/columns/table.js';
import { lakePathOf } from './catalog/change.js';
import type { TableState } from './catalog/grown-schema.js';
import type { Snapshot } from './catalog/snapshot.js';
import type { Add, MetaData } from './delta/actions.js';
import { loadKeysOf, mainOf } from './delta/file-tags.js';
import { fileColumns, type LogColumn } from './delta/table-metadata.js';
import type { Store } from './store/store.js';

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
  files(): Iterable<Add> {
    return this.#lake.files(this.#table);
  }

  /** The files of an account. */
  filesOf(account: string): Iterable<Add> {
    return this.#lake.filesOf(this.#table, account).values();
  }

  /** The file with a path in the table's log. */
  file(path: string): Add | undefined {
    return this.#lake.file(this.#table, path);
  }

  /** The files of an account and pipeline with any of these load keys. */
  filesWith(account: string, pipeline: string, loadKeys: Iterable<string>): Add[] {
    const files = this.#index(account).byLoadKey.get(pipeline);
    const found = new Set<Add>();
    for (const loadKey of loadKeys) for (const add of files?.get(loadKey) ?? []) found.add(add);
    return [...found];
  }

  /** The files of an account whose rows are derived from a main table's file, by that one's path within the lake. */
  derivedFrom(account: string, path: string): readonly Add[] {
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
  readonly byLoadKey: ReadonlyMap<string, ReadonlyMap<string, readonly Add[]>>;
  /** By the main table's file that they are derived from. */
  readonly byMain: ReadonlyMap<string, readonly Add[]>;
}

/** Snapshots share the files of a table and account that a commit leaves alone. */
const indexes = new WeakMap<ReadonlyMap<string, Add>, FileIndex>();

function indexOf(files: Iterable<Add>): FileIndex {
  const byLoadKey = new Map<string, Map<string, Add[]>>();
  const byMain = new Map<string, Add[]>();
  for (const add of files) {
    const pipeline = add.tags?.['pipeline'] ?? '';
    let keys = byLoadKey.get(pipeline);
    if (keys === undefined) byLoadKey.set(pipeline, (keys = new Map<string, Add[]>()));
    for (const loadKey of loadKeysOf(add)) append(keys, loadKey, add);
    const main = mainOf(add);
    if (main !== undefined) append(byMain, main, add);
  }
  return { byLoadKey, byMain };
}

function append(lists: Map<string, Add[]>, key: string, add: Add): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [add]);
  else list.push(add);
}

/** A table of an open lake. */
export class LakeTable {
  readonly schema: Table;
  readonly #store: Store;
  readonly #newest: () => Snapshot;

  /** @param newest the newest snapshot that was read */
  constructor(schema: Table, store: Store, newest: () => Snapshot) {
    this.schema = schema;
    this.#store = store;
    this.#newest = newest;
  }

  /** The newest version read; `Lake.refresh` reads newer ones. */
  get snapshot(): TableSnapshot {
    return new TableSnapshot(this.#newest(), this.schema.name);
  }

  /** The table's metaData action; undefined where there is no table yet. */
  get metaData(): MetaData | undefined {
    return this.snapshot.metaData;
  }

  /** The columns of its files: those of the schema, then those that a newer program version has added. */
  get columns(): readonly LogColumn[] {
    return fileColumns(this.schema, this.metaData);
  }

  /** When the table was created, in milliseconds since 1970; undefined where it doesn't exist. */
  get createdAt(): number | undefined {
    return this.metaData?.createdTime;
  }

  /** `LAKE/TABLE/_delta_log`, for messages. */
  get logLocation(): string {
    return `${this.#store.location}/${this.schema.name}/_delta_log`;
  }

  /** The file's path within the lake. */
  pathOf(add: Pick<Add, 'path'>): string {
    return lakePathOf(this.schema.name, add);
  }

  /** The file with a path within the lake, as `pathOf` gives it; undefined where this table has none there. */
  fileAt(path: string): Add | undefined {
    const prefix = `${this.schema.name}/`;
    return path.startsWith(prefix) ? this.snapshot.file(path.slice(prefix.length)) : undefined;
  }

  /** The retention of replaced files, in milliseconds. */
  get retentionMs(): number {
    return this.#newest().config.retentionMs;
  }

  /** Whether the newest version has no file with a path within the lake, and doesn't retain one. */
  isOrphan(path: string): boolean {
    return this.fileAt(path) === undefined && !this.#newest().isRetired(path);
  }
}
