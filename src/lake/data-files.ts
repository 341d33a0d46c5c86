/**
 * The paths of tables' files. A name ends with the run that wrote the file and a number, so that none is used twice: readers may
 * cache a file by its name for ever.
 */
const dataFile = /^[^/]+\/account=[^/]+\/month=[^/]+\/[^/]+-(\d{1,15}-[0-9a-z]+)-\d+\.parquet$/;

/** The path, within its table, of a file that a run writes to a partition. `number`: another one for each file of the run. */
export function dataFilePath(
  { account, month, name }: { readonly account: string; readonly month: string; readonly name: string },
  run: string,
  number: number,
): string {
  return `account=${account}/month=${month}/${name}-${run}-${number}.parquet`;
}

/** The run that wrote a data file, by its path within the lake; undefined for any other file. */
export function runOfDataFile(path: string): string | undefined {
  return dataFile.exec(path)?.[1];
}

/** Whether a path within the lake is that of a data file that this program writes. No run deletes other files in the lake's folders. */
export function isDataFile(path: string): boolean {
  return dataFile.test(path);
}

/** The folder of a table's symlink manifests, as Delta names it. */
export const symlinkFolder = '_symlink_format_manifest';

/** The folder of a lake with the Iceberg metadata of its tables. */
export const icebergFolder = '_iceberg';
