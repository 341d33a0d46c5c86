import type { Table } from '../../core/columns/table.js';
import type { Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { numbered } from '../delta/log-paths.js';
import type { Store } from '../store/store.js';

/** A file on its way into a table. */
export interface NewFile {
  readonly table: Table;
  /** Its entry in the log; the path `…/NAME.parquet` may still get a number. Its tag `sha256` says what it holds. */
  readonly add: Add;
  /** Its bytes, as many as the entry says: asked for when they are written, so that none have to be held until then. */
  readonly read: () => Promise<Uint8Array>;
  /** Derived files are named by the main table's file of the same bundle; left out: by that of the same month. */
  readonly bundle?: string;
}

/** What one commit has written so far: it may have to write a file again under another name. */
export class WrittenFiles {
  readonly #store: Store;
  /** Bytes of each file by table and path in its log. */
  readonly #sizes = new Map<DeltaTable, Map<string, number>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Sees to it that the file is in the lake, and gives its entry with the path that it has there: where the table holds
   * the same content already, that one's; else its own name, with a number behind it where that is tombstoned.
   */
  async place(table: DeltaTable, file: NewFile): Promise<Add> {
    const path = livePath(table, file.add) ?? freePath(table, file.add.path);
    const sizes = this.#sizes.get(table) ?? new Map<string, number>();
    if (!table.snapshot.files.has(path) && !sizes.has(path)) {
      await this.#store.write(table.pathOf({ ...file.add, path }), await file.read());
      this.#sizes.set(table, sizes.set(path, file.add.size));
    }
    return { ...file.add, path };
  }

  /** What was written into a table's folders, as paths in its log. */
  paths(table: DeltaTable): string[] {
    return [...(this.#sizes.get(table)?.keys() ?? [])];
  }

  /** Files and bytes among those that are used. */
  count(used: readonly { readonly table: DeltaTable; readonly add: Add }[]): { files: number; bytes: number } {
    const sizes = used.flatMap(({ table, add }) => this.#sizes.get(table)?.get(add.path) ?? []);
    return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
  }
}

/** Where the table holds the same content under the same name, whatever the number behind it. */
function livePath({ snapshot }: DeltaTable, { path, tags }: Add): string | undefined {
  if (snapshot.files.has(path)) return path;
  for (const live of snapshot.numbered(path)) if (live.tags?.['sha256'] === tags?.['sha256']) return live.path;
  return undefined;
}

/** The path, or the first one with a number behind it, that nobody may be about to delete. */
function freePath(table: DeltaTable, path: string): string {
  let free = path;
  for (let number = 2; table.isTombstoned(free); number++) free = numbered(path, number);
  return free;
}
