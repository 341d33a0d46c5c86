import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { Add } from '../lake/actions.js';
import { DamagedFile } from '../lake/damaged-file.js';
import type { DeltaTable } from '../lake/delta-table.js';
import type { Store } from '../lake/store.js';
import type { ParquetSource } from '../parquet/source-blob.js';
import type { Workspace } from './workspace.js';

/** What a file has at most that is held in memory as it is. */
const wholeBytes = 4_000_000;

/**
 * A committed file's bytes, once they are what its commit says.
 *
 * @throws LedgerlakeError LAKE_STORE naming the file, where it is missing or was changed behind the lake's back
 */
export async function checkedBytes(store: Store, table: DeltaTable, add: Add): Promise<Uint8Array> {
  const bytes = await store.read(table.pathOf(add));
  const fault = faultOf(add, bytes);
  if (bytes === undefined || fault !== undefined) throw damaged(store, table, add, fault);
  return bytes;
}

/** The same of a file that is only read through: a large one isn't held in memory, and copied where the lake is elsewhere. */
export async function checkedSource(
  store: Store,
  table: DeltaTable,
  add: Add,
  workspace: Pick<Workspace, 'fresh'>,
): Promise<ParquetSource> {
  const source = await soundSource(store, table, add, workspace);
  if (typeof source === 'object' && 'fault' in source) throw damaged(store, table, add, source.fault);
  return source;
}

/** The same, or what is wrong with the file. */
export async function soundSource(
  store: Store,
  table: DeltaTable,
  add: Add,
  { fresh }: Pick<Workspace, 'fresh'>,
): Promise<ParquetSource | { readonly fault: string }> {
  const path = table.pathOf(add);
  if (add.size <= wholeBytes) {
    const bytes = await store.read(path);
    const fault = faultOf(add, bytes);
    return bytes === undefined || fault !== undefined ? { fault: fault ?? missing } : bytes;
  }
  const address = store.address(path);
  const local = isAbsolute(address) ? address : fresh();
  const copy = local === address ? undefined : await open(local, 'wx');
  try {
    const hash = createHash('sha256');
    let size = 0;
    for (let start = 0; start < add.size; start += wholeBytes) {
      // One more than is asked for: it shows whether the file goes on where it should end.
      const read = await store.readRange(path, start, wholeBytes + 1);
      if (read === undefined) return { fault: missing };
      const isLast = start + wholeBytes >= add.size;
      const piece = isLast ? read : read.subarray(0, wholeBytes);
      size += piece.length;
      hash.update(piece);
      await copy?.writeFile(piece);
    }
    const fault = faultIn(add, size, () => hash.digest('hex'));
    return fault === undefined ? local : { fault };
  } finally {
    await copy?.close();
  }
}

const missing = 'it is missing';

/** What is wrong with a file's bytes; undefined where they are what its commit says. */
export function faultOf(add: Add, bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return missing;
  return faultIn(add, bytes.length, () => createHash('sha256').update(bytes).digest('hex'));
}

function faultIn({ size, tags }: Add, found: number, sha256: () => string): string | undefined {
  if (found !== size) return `it has ${found} bytes instead of ${size}`;
  const expected = tags?.['sha256'];
  return expected !== undefined && sha256() !== expected ? 'its bytes have changed' : undefined;
}

function damaged(store: Store, table: DeltaTable, add: Add, fault: string = missing): DamagedFile {
  const isLasting = table.schema.lasting === true;
  const advice = `restore the file from a copy${isLasting ? '' : ', or read its window again with `ledgerlake backfill --refresh`'}`;
  return new DamagedFile(store.address(table.pathOf(add)), fault, advice);
}
