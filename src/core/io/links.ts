import { type Stats, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { LedgerlakeError } from '../errors.js';
import { makeFolders } from './files.js';

/**
 * A file or folder below a folder that the user chose and others may write to. The root may be a link; nothing on the
 * way from it may be.
 */
export interface PathBelow {
  readonly root: string;
  /** Relative to the root, with slashes. */
  readonly path: string;
}

/** A path below another one. */
export function below({ root, path }: PathBelow, name: string): PathBelow {
  return { root, path: `${path}/${name}` };
}

/**
 * The absolute path, once the folders on the way are checked; the path itself may be a link, which a rename or removal
 * doesn't follow.
 *
 * @throws LedgerlakeError LAKE_STORE naming the link
 */
export function checkedPath({ root, path }: PathBelow): string {
  refuseLinkedFolder(root, path);
  return join(root, path);
}

/**
 * Creates a folder and its missing parents, for the user alone. Returns its absolute path.
 *
 * @throws LedgerlakeError LAKE_STORE naming a link on the way, or the system's error
 */
export async function makeFoldersBelow({ root, path }: PathBelow): Promise<string> {
  refuseLinks(root, path);
  await makeFolders(join(root, path), 0o700);
  // Somebody else may have been faster.
  refuseLinks(root, path);
  return join(root, path);
}

/**
 * Refuses a path below `root` that leads through a link, or to anything but a file or folder. A link may lead elsewhere,
 * and opening a FIFO blocks. The root itself may be a link. Synchronous, because it is called for every file of a lake
 * and answered from the system's cache.
 *
 * @throws LedgerlakeError LAKE_STORE naming the link or the file
 */
export function refuseLinks(root: string, path: string): void {
  const last = refuseLinkedFolder(root, path);
  if (last === undefined) return;
  const at = join(root, path);
  if (last.isSymbolicLink()) throw linked(root, at);
  if (!last.isFile() && !last.isDirectory())
    throw unexpectedEntry(root, `${at}, which is a FIFO, a socket or a device; move it away`);
}

/**
 * The same for the parent folders only: for removing or replacing the path itself, even if it is a link.
 *
 * @returns the path's status; undefined where nothing is there, or where the system doesn't say
 */
export function refuseLinkedFolder(root: string, path: string): Stats | undefined {
  let at = root;
  let stats: Stats | undefined;
  for (const name of path.split('/')) {
    if (stats?.isSymbolicLink() === true) throw linked(root, at);
    at = join(at, name);
    stats = statsNow(at);
    if (stats === undefined) return undefined;
  }
  return stats;
}

function statsNow(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // Opening the path reports the error.
    return undefined;
  }
}

function linked(root: string, path: string): LedgerlakeError {
  return unexpectedEntry(root, `the symbolic link ${path}, which is not followed; replace it with its target`);
}

function unexpectedEntry(root: string, found: string): LedgerlakeError {
  return new LedgerlakeError('LAKE_STORE', `expected files and folders in ${root}, got ${found}`);
}
