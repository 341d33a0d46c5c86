import { createHash } from 'node:crypto';
import type { Add } from '../lake/actions.js';
import { DamagedFile } from '../lake/damaged-file.js';
import type { DeltaTable } from '../lake/delta-table.js';
import type { Store } from '../lake/store.js';

/**
 * A committed file's bytes, once they are what its commit says.
 *
 * @throws LedgerlakeError LAKE_STORE naming the file, where it is missing or was changed behind the lake's back
 */
export async function checkedBytes(store: Store, table: DeltaTable, add: Add): Promise<Uint8Array> {
  const path = table.pathOf(add);
  const bytes = await store.read(path);
  const fault = faultOf(add, bytes);
  if (bytes === undefined || fault !== undefined) {
    const isLasting = table.schema.lasting === true;
    const advice = `restore the file from a copy${isLasting ? '' : ', or read its window again with `ledgerlake backfill --refresh`'}`;
    throw new DamagedFile(store.address(path), fault ?? 'it is missing', advice);
  }
  return bytes;
}

/** What is wrong with a file's bytes; undefined where they are what its commit says. */
export function faultOf({ size, tags }: Add, bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return 'it is missing';
  if (bytes.length !== size) return `it has ${bytes.length} bytes instead of ${size}`;
  const expected = tags?.['sha256'];
  if (expected !== undefined && createHash('sha256').update(bytes).digest('hex') !== expected) {
    return 'its bytes have changed';
  }
  return undefined;
}
