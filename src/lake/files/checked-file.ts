import { createHash, hash } from 'node:crypto';
import { openNewFile } from '../../core/io/write-file.js';
import type { Add } from '../delta/actions.js';
import { DamagedFile, loadKeysOf } from '../delta/file-tags.js';
import { loadKeysText } from './load-key-rows.js';
import type { LakeTable } from '../lake-table.js';
import type { Store } from '../store/store.js';
import type { ParquetSource } from '../../core/parquet/parquet-source.js';
import type { Workspace } from './workspace.js';

/** Bytes that are read into memory at once. */
const wholeBytes = 4_000_000;

/**
 * The bytes of a committed file, verified by size and hash.
 *
 * @throws LedgerlakeError LAKE_STORE naming the file, where it is missing or has changed
 */
export async function checkedBytes(store: Store, table: LakeTable, add: Add): Promise<Uint8Array> {
  const bytes = await store.read(table.pathOf(add));
  const fault = faultOf(add, bytes);
  if (bytes === undefined || fault !== undefined) throw damagedFile(store, table, add, fault);
  return bytes;
}

/** The same for a file that is read in sequence: a large one isn't kept in memory. */
export async function checkedSource(
  store: Store,
  table: LakeTable,
  add: Add,
  workspace: Pick<Workspace, 'newPath' | 'faults'>,
): Promise<ParquetSource> {
  return add.size > wholeBytes ? checkedFile(store, table, add, workspace) : checkedBytes(store, table, add);
}

/**
 * The same as a local file: the lake's file, or a copy where the lake isn't on the local disk, or with `isCopied`. Where DuckDB can't
 * read it, its error is a DamagedFile with the file's slice.
 */
export async function checkedFile(
  store: Store,
  table: LakeTable,
  add: Add,
  { newPath, faults }: Pick<Workspace, 'newPath' | 'faults'>,
  { isCopied = false } = {},
): Promise<string> {
  const localPath = isCopied ? undefined : store.localPath(table.pathOf(add));
  const path = localPath ?? newPath();
  faults.set(path, (text) => {
    const slice = loadKeysText(loadKeysOf(add)) || 'no slice';
    return damagedFile(store, table, add, `it has ${slice} and can't be read (${text})`);
  });
  if (localPath !== undefined) {
    await eachChecked(store, table, add);
    return localPath;
  }
  const copy = await openNewFile(path, 0o600);
  try {
    await eachChecked(store, table, add, (piece) => copy.writeFile(piece));
  } finally {
    await copy.close();
  }
  return path;
}

/** What is wrong with a committed file, in words; undefined where it is intact. */
export async function damageOf(store: Store, table: LakeTable, add: Add): Promise<string | undefined> {
  try {
    await eachChecked(store, table, add);
    return undefined;
  } catch (error) {
    if (error instanceof DamagedFile) return error.fault;
    throw error;
  }
}

/** Reads a committed file in pieces; throws at its end where size or hash differ. */
async function eachChecked(
  store: Store,
  table: LakeTable,
  add: Add,
  use?: (piece: Uint8Array) => Promise<void>,
): Promise<void> {
  const hash = createHash('sha256');
  let size = 0;
  for (let start = 0; start < add.size; start += wholeBytes) {
    // One byte more, which shows whether the file is too long.
    const read = await store.readRange(table.pathOf(add), start, wholeBytes + 1);
    if (read === undefined) throw damagedFile(store, table, add, missing);
    const isLast = start + wholeBytes >= add.size;
    const piece = isLast ? read : read.subarray(0, wholeBytes);
    size += piece.length;
    hash.update(piece);
    await use?.(piece);
  }
  const fault = faultIn(add, size, () => hash.digest('hex'));
  if (fault !== undefined) throw damagedFile(store, table, add, fault);
}

/** Advice for a damaged file of the history without a copy. */
export const dropHistory = 'give up its rows with `ledgerlake compact --drop-damaged-history`';

const missing = 'it is missing';

/** What is wrong with a file's bytes; undefined where size and hash are those of the log. */
export function faultOf(add: Add, bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return missing;
  return faultIn(add, bytes.length, () => hash('sha256', bytes));
}

function faultIn(add: Add, found: number, sha256: () => string): string | undefined {
  const expected = add.tags?.['sha256'];
  const isChanged = () => expected !== undefined && sha256() !== expected;
  return sizeFault(add, found) ?? (isChanged() ? 'its bytes have changed' : undefined);
}

/** What is wrong with the size of a file in bytes; undefined where it is that of the log. */
export function sizeFault({ size }: Add, found: number): string | undefined {
  return found === size ? undefined : `it has ${found} bytes instead of ${size}`;
}

/** The error for a committed file with a fault. */
export function damagedFile(store: Store, table: LakeTable, add: Add, fault: string = missing): DamagedFile {
  const isAppendOnly = table.schema.appendOnly === true;
  const advice = `restore the file from a copy${isAppendOnly ? `, or ${dropHistory}` : ', or run the command that `ledgerlake verify` names'}`;
  return new DamagedFile(store.address(table.pathOf(add)), fault, advice);
}
