/** Where tables' files lie, and how every one of them is named: at its end the beginning of its content's hash. */
const dataFile = /^[^/]+\/account=[^/]+\/month=[^/]+\/[^/]+-[0-9a-f]{16}(?:-\d+)?\.parquet$/;

/**
 * Whether a file may be one of the lake's own, as its path within the lake says. Whatever else somebody has put into its
 * folders is theirs, and no run deletes it.
 */
export function isDataFile(path: string): boolean {
  return dataFile.test(path);
}

/** Folder of a table with the symlink manifests of its partitions: Delta's own name for it. */
export const symlinkFolder = '_symlink_format_manifest';
