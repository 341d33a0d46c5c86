import { type DataFile, type FileFigures, lakePathOf, rowsOf, type SharedTags } from './delta/data-file.js';
import type { Add } from './delta/actions.js';
import { LedgerlakeError } from '../core/errors.js';
import { groupBy } from '../core/group-by.js';
import type { Table } from '../core/columns/table.js';
import type { FileContent } from '../core/io/file-content.js';
import { removedFile, type Change, type RemovedFile, type TableChange } from './catalog/change.js';
import { grownSchema } from './catalog/grown-schema.js';
import type { Snapshot } from './catalog/snapshot.js';
import { dataFilePath } from './data-files.js';
import { deltaSchema, newMetaData } from './delta/table-metadata.js';
import { descriptionOf } from './table-descriptions.js';

/** A file to be added to a table. */
export interface NewFile extends FileFigures {
  readonly table: Table;
  readonly account: string;
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  /** The start of its name, which the run and a number follow: letters, digits, `-`, `.` and `_`. */
  readonly name: string;
  /** The load keys of its rows. */
  readonly loadKeys: readonly string[];
  readonly shared: SharedTags;
  readonly rows: number;
  /** Statistics in Delta's JSON form. */
  readonly stats: string;
  readonly content: FileContent;
  /** False where it takes over the rows of other files: no news for readers of the table's changes. */
  readonly dataChange: boolean;
  /** Reads its bytes, only when they are written, to save memory. */
  readonly read: () => Promise<Uint8Array>;
  /** Derived files belong to the main file of the same bundle; left out: of the same month. */
  readonly bundle?: string;
  /** The stored main file that the rows of a derived file belong to, as a path within the lake; left out: one of the same commit. */
  readonly main?: string;
}

/** Something of a snapshot that files are made from, or that they replace. */
export interface Chosen {
  /** Whether a snapshot has the same. */
  readonly isCurrent: (snapshot: Snapshot) => boolean;
}

/** Nothing was committed, because another run has changed what the files were made from: `overNewest` chooses again. */
export class CommitConflict extends LedgerlakeError {
  constructor({ operation, main }: Pick<FileCommit, 'operation' | 'main'>) {
    super(
      'LAKE_CONFLICT',
      `expected the rows of ${main.name} to stay as ${operation} had read them, got changes of other runs each time; nothing was ` +
        'replaced, run the same command again',
    );
  }
}

/** Files that are committed together, and replace others. */
export interface FileCommit {
  /** Operation in the catalog: `WRITE`. */
  readonly operation: string;
  /** The table whose files derived files belong to. */
  readonly main: Table;
  readonly files: readonly NewFile[];
  /** What they were made from: the commit is a conflict where the newest snapshot has other. Left out: nothing that other runs change. */
  readonly over?: readonly Chosen[];
  /** What they replace in the newest snapshot; undefined: there is nothing to do. */
  readonly replaced: (snapshot: Snapshot) => ReplacedFiles | undefined;
}

/** The files of all tables that a commit removes, each once, and the load keys that it sets and deletes. */
export interface ReplacedFiles extends Pick<Change, 'keys'> {
  readonly removed: readonly DataFile[];
}

/** The number of files that were committed, and their bytes. */
export interface WrittenFiles {
  readonly files: number;
  readonly bytes: number;
}

export const noFiles: WrittenFiles = { files: 0, bytes: 0 };

/**
 * What a commit replaces in a snapshot; undefined: there is nothing to do.
 *
 * @throws CommitConflict
 */
export function replacedBy(commit: FileCommit, snapshot: Snapshot): ReplacedFiles | undefined {
  const { over = [], replaced } = commit;
  if (!over.every(({ isCurrent }) => isCurrent(snapshot))) throw new CommitConflict(commit);
  return replaced(snapshot);
}

/**
 * The actions that add the files of a commit (Delta protocol, "Add File"), under their final names, each derived file with its main file.
 *
 * @param nextNumber another one at each call
 * @param now milliseconds since 1970
 */
export function addsOf(
  { main, files }: FileCommit,
  run: string,
  nextNumber: () => number,
  now: number,
): ReadonlyMap<NewFile, Add> {
  const paths = new Map(files.map((file) => [file, dataFilePath(file, run, nextNumber())]));
  const mains = files.filter(({ table }) => table.name === main.name);
  const mainPathOf = (file: NewFile): string | undefined => {
    if (file.main !== undefined || mains.includes(file) || file.table.appendOnly === true) return file.main;
    const found = mainFileOf(file, mains);
    return found && lakePathOf(main.name, { path: paths.get(found) ?? '' });
  };
  return new Map([...paths].map(([file, path]) => [file, addOf(file, path, mainPathOf(file), now)]));
}

function addOf(file: NewFile, path: string, main: string | undefined, now: number): Add {
  const { account, month, content, dataChange, stats, net, groups } = file;
  const tags = {
    ...file.shared,
    ...(net && { net: JSON.stringify(net) }),
    ...(groups && { groups: JSON.stringify(groups) }),
    loadKeys: JSON.stringify(file.loadKeys),
    rows: String(file.rows),
    sha256: content.sha256,
    ...(main !== undefined && { main }),
  };
  return {
    path,
    partitionValues: { account, month },
    size: content.size,
    modificationTime: now,
    dataChange,
    stats,
    tags,
  };
}

/** The main file of a derived one: that of its bundle, or the first one where its bundle has none. */
function mainFileOf(file: NewFile, mains: readonly NewFile[]): NewFile | undefined {
  const bundleOf = ({ bundle, month }: NewFile): string => bundle ?? month;
  return mains.find((main) => bundleOf(main) === bundleOf(file)) ?? mains[0];
}

/** Files of a main table, and what is derived from them, each once. */
export function withDerived(snapshot: Snapshot, mains: readonly DataFile[]): readonly DataFile[] {
  const found = new Map<string, DataFile>();
  const note = (file: DataFile) => found.set(file.lakePath, file);
  for (const main of mains) {
    note(main);
    for (const table of snapshot.tables.keys()) {
      for (const derived of snapshot.derivedFrom(table, main.account, main.lakePath)) note(derived);
    }
  }
  return [...found.values()];
}

/** The change that adds files and replaces others. `now`: milliseconds since 1970. */
export function changeOf(
  snapshot: Snapshot,
  adds: ReadonlyMap<NewFile, Add>,
  { removed, keys }: ReplacedFiles,
  now: number,
): Change {
  const files = [...adds.keys()];
  // Readers of a table's changes needn't look at files that have the same rows as the ones they replace. They must where rows are gone.
  const isDataChange =
    files.length === 0 || files.some(({ dataChange }) => dataChange) || rowsOf(files) !== rowsOf(removed);
  const removals = groupBy(removed, ({ table }) => table);
  const additions = groupBy(adds, ([{ table }]) => table.name);
  const tables = [...new Set([...removals.keys(), ...additions.keys()])].map((name): [string, TableChange] => {
    const remove = removals.get(name)?.map((file): RemovedFile => removedFile(file, isDataChange)) ?? [];
    const added = additions.get(name) ?? [];
    const schema = added[0] && schemaChange(snapshot, added[0][0].table, now);
    return [name, { ...schema, remove, add: added.map(([, add]) => add) }];
  });
  return { tables: Object.fromEntries(tables), ...(keys && { keys }) };
}

/** What a commit says of the schema of a table that is new, or that gets columns; empty where nothing changes. */
export function schemaChange(
  snapshot: Snapshot,
  table: Table,
  now: number,
): Pick<TableChange, 'metaData' | 'description'> {
  const stored = snapshot.tables.get(table.name);
  const metaData =
    stored === undefined
      ? newMetaData(table, now, snapshot.config.retentionMs)
      : { ...stored.metaData, schemaString: deltaSchema(table) };
  const description = descriptionOf(table);
  return grownSchema(stored, { metaData, ...(description && { description }) });
}
