/** The paths of tables' files. The name ends with a prefix of the content's hash. */
const dataFile = /^[^/]+\/account=[^/]+\/month=[^/]+\/[^/]+-[0-9a-f]{16}(?:-\d+)?\.parquet$/;

/** Whether a path within the lake is that of a data file that this program writes. No run deletes other files in the lake's folders. */
export function isDataFile(path: string): boolean {
  return dataFile.test(path);
}

/** The folder of a table's symlink manifests, as Delta names it. */
export const symlinkFolder = '_symlink_format_manifest';
