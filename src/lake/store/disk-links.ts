import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { LedgerlakeError } from '../../core/errors.js';

/**
 * Refuses a path of a lake on disk that leads through a link, or to something that is neither a file nor a folder. A link
 * may lead out of the lake, and whoever opens a FIFO waits for ever. Only what lies below the root counts: the lake itself
 * may be a link. Synchronous, as it is asked for every file and answered from the system's memory.
 *
 * @throws LedgerlakeError LAKE_STORE naming the link or the file
 */
export function refuseLinks(root: string, path: string): void {
  const last = refuseLinkedFolder(root, path);
  if (last === undefined) return;
  const at = join(root, path);
  if (last.isSymbolicLink()) throw linked(at);
  if (!last.isFile() && !last.isDirectory()) throw notPlain(at);
}

/**
 * The same of the folders on the way alone: for whoever removes or replaces the path itself, be it a link.
 *
 * @returns what is at the path itself; undefined where nothing is, or where the system doesn't say
 */
export function refuseLinkedFolder(root: string, path: string): Stats | undefined {
  let at = root;
  let stats: Stats | undefined;
  for (const name of path.split('/')) {
    if (stats?.isSymbolicLink() === true) throw linked(at);
    at = join(at, name);
    stats = statsOf(at);
    if (stats === undefined) return undefined;
  }
  return stats;
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // What is wrong with it is told by whoever opens it.
    return undefined;
  }
}

function linked(path: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_STORE',
    `expected files and folders in the lake, ${path} is a link, and none is followed there: put what it leads to in its place`,
  );
}

function notPlain(path: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_STORE',
    `expected files and folders in the lake, ${path} is a FIFO, a socket or a device: move it away`,
  );
}
