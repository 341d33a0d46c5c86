import { createHash } from 'node:crypto';

/**
 * The hash of each file's bytes, by path. Two of these are compared in no time; of the bytes themselves `toEqual` looks at
 * each one as at a member of an object, which takes seconds for a small lake.
 */
export function hashesOf(files: ReadonlyMap<string, Uint8Array>): Map<string, string> {
  return new Map([...files].map(([path, bytes]) => [path, createHash('sha256').update(bytes).digest('hex')]));
}
