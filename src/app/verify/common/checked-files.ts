import type { Table } from '../../../core/columns/table.js';
import { groupBy } from '../../../core/group-by.js';
import type { ResultCell } from '../../../core/text/rows.js';
import { ifReadable, shownText, type DataFile } from '../../../lake/delta/data-file.js';
import { loadKeysText } from '../../../lake/files/load-key-rows.js';
import type { Lake } from '../../../lake/lake.js';
import { loadKeyKindOf, type StoredPipeline } from '../../coverage/stored-pipelines.js';
import type { Remedy } from '../../remedy.js';

/** The location of a problem; empty where it concerns no single table, file or load key. */
export interface ProblemLocation {
  readonly table: string;
  /** Relative to the lake. */
  readonly file: string;
  /** `window/…`, `group/…`, `order/…`; for several slices the first and the number of others. */
  readonly loadKey: string;
  /** The account of the rows, for the commands in the text; left out where the check doesn't know it. */
  readonly account?: string;
  /** What repairs the problem; left out where its check, table and file suggest it. */
  readonly remedy?: Remedy;
}

/** A file that the catalog names, whose entry there can be read. */
export interface CheckedFile extends ProblemLocation {
  readonly account: string;
  readonly schema: Table;
  /** Its entry in the catalog. */
  readonly dataFile: DataFile;
  readonly loadKeys: readonly string[];
  /** Where DuckDB reads it: in the lake, or a copy of it. */
  readonly path: string;
}

/** A file that the catalog names, whose entry there can't be understood. */
export interface UndescribedFile extends ProblemLocation {
  readonly account: string;
  readonly fault: string;
}

/**
 * The files of every table as the catalog names them.
 *
 * @param pathOf where DuckDB reads a file
 */
export function checkedFiles(
  lake: Lake,
  account: string | undefined,
  pathOf: (file: string) => string,
): { readonly files: readonly CheckedFile[]; readonly undescribed: readonly UndescribedFile[] } {
  const files: CheckedFile[] = [];
  const undescribed: UndescribedFile[] = [];
  for (const schema of lake.tables) {
    for (const dataFile of lake.snapshot.files(schema.name)) {
      if (account !== undefined && dataFile.account !== account) continue;
      const location = { table: schema.name, file: dataFile.lakePath, account: dataFile.account };
      const fault = tagsFault(schema, dataFile);
      if (fault === undefined) {
        const { loadKeys } = dataFile;
        files.push({
          ...location,
          loadKey: loadKeysText(loadKeys),
          schema,
          dataFile,
          loadKeys,
          path: pathOf(location.file),
        });
      } else undescribed.push({ ...location, loadKey: dataFile.loadKeysTag, fault });
    }
  }
  return { files, undescribed };
}

/** What is wrong with the tags and the statistics of a file, or undefined. */
function tagsFault(table: Table, dataFile: DataFile): string | undefined {
  const { tagFault, account, month, main, stats } = dataFile;
  if (tagFault !== undefined) return tagFault;
  if (ifReadable(() => dataFile.statistics.numRecords) === undefined)
    return `expected statistics, got ${shownText(stats)}`;
  const isMain = loadKeyKindOf(table) !== undefined;
  if (isMain && main !== undefined) return `expected no tag main, got ${shownText(main)}`;
  const folder = `account=${account}/month=${month}`;
  const path = dataFile.lakePath;
  return path.startsWith(`${table.name}/${folder}/`) ? undefined : `expected the file in ${folder}`;
}

/** The location of an account's load keys: the first file with rows of one. */
export function locationIn(
  files: readonly CheckedFile[],
  { main: { name: table } }: StoredPipeline,
  account: string,
): (loadKey: string) => ProblemLocation {
  return (loadKey) => {
    const holds = (file: CheckedFile) =>
      file.table === table && file.account === account && file.loadKeys.includes(loadKey);
    return { table, file: files.find(holds)?.file ?? '', loadKey, account };
  };
}

/** A main file with the files whose rows are derived from its rows. One slice commits them together. */
export interface CheckedBundle {
  readonly main: CheckedFile;
  readonly derived: readonly CheckedFile[];
}

/** Groups files by bundle. A derived file whose main file the catalog lacks is in none. */
export function checkedBundles(files: readonly CheckedFile[]): CheckedBundle[] {
  const byMain = groupBy(files, ({ dataFile }) => dataFile.main);
  return (byMain.get(undefined) ?? []).map((main) => ({ main, derived: byMain.get(main.file) ?? [] }));
}

/** Files of one table and account that are read together. */
export interface TableFiles {
  readonly schema: Table;
  readonly files: readonly CheckedFile[];
  /** Of a main table: the bundles of which every file can be read. */
  readonly bundles: readonly CheckedBundle[];
}

/** The files with rows that are derived from those of bundles. */
export function derivedOf(bundles: readonly CheckedBundle[]): readonly CheckedFile[] {
  return bundles.flatMap(({ derived }) => derived);
}

export function pathsOf(files: readonly CheckedFile[]): string[] {
  return files.map(({ path }) => path);
}

/** The file of a row of `rowsWithSource`. */
export function fileOf(files: readonly CheckedFile[], source: ResultCell | undefined): CheckedFile {
  const found = files[Number(source)];
  if (found === undefined) throw new Error(`expected a file ${String(source)}`);
  return found;
}
