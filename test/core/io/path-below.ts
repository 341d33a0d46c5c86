import { basename, dirname } from 'node:path';
import type { PathBelow } from '../../../src/core/io/links.js';

/** A path below the folder that it is in. */
export function inItsFolder(path: string): PathBelow {
  return { root: dirname(path), path: basename(path) };
}
