import type { DataFile } from './delta/data-file.js';
import type { Table } from '../core/columns/table.js';
import { lakePathOf } from './catalog/change.js';
import type { Snapshot } from './catalog/snapshot.js';
import { TableSnapshot } from './catalog/table-snapshot.js';
import type { MetaData } from './delta/actions.js';
import { fileColumns, type LogColumn } from './delta/table-metadata.js';

/** A table of an open lake. */
export class LakeTable {
  readonly schema: Table;
  readonly #newest: () => Snapshot;

  /** @param newest the newest snapshot that was read */
  constructor(schema: Table, newest: () => Snapshot) {
    this.schema = schema;
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

  /** The file's path within the lake. */
  pathOf(add: Pick<DataFile, 'path'>): string {
    return lakePathOf(this.schema.name, add);
  }

  /** The file with a path within the lake, as `pathOf` gives it; undefined where this table has none there. */
  fileAt(path: string): DataFile | undefined {
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
