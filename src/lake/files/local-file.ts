import { DamagedFile, type DataFile } from '../delta/data-file.js';
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { contentOf, type FileContent } from '../../core/io/file-content.js';
import { openNewFile } from '../../core/io/write-file.js';
import { loadKeysText } from './load-key-rows.js';
import { hasFile, type Store } from '../store/store.js';
import type { ParquetSource } from '../../core/parquet/parquet-source.js';
import type { Workspace } from './workspace.js';

/** Bytes that are read into memory at once. */
const wholeBytes = 4_000_000;

/**
 * Size and SHA-256 of a file, which is read in pieces; undefined where there is no file.
 *
 * @param copy a new path to copy it to
 * @param most bytes beyond which it isn't read any further, as it is another file
 */
export async function readContent(
  store: Store,
  path: string,
  { copy, most = Infinity }: { readonly copy?: string | undefined; readonly most?: number } = {},
): Promise<FileContent | undefined> {
  const hash = createHash('sha256');
  let target: FileHandle | undefined;
  try {
    for (let size = 0; ;) {
      const piece = await store.readRange(path, size, wholeBytes);
      if (piece === undefined) return undefined;
      if (copy !== undefined) target ??= await openNewFile(copy, 0o600);
      hash.update(piece);
      await target?.writeFile(piece);
      size += piece.length;
      if (piece.length < wholeBytes || size > most) return { size, sha256: hash.digest('hex') };
    }
  } finally {
    await target?.close();
  }
}

/**
 * The bytes of a committed file, verified by size and hash.
 *
 * @throws LedgerlakeError LAKE_STORE naming the file, where it is missing or has changed
 */
export async function checkedBytes(store: Store, file: DataFile): Promise<Uint8Array> {
  const bytes = await store.read(file.lakePath);
  const fault = faultOf(file, bytes);
  if (bytes === undefined || fault !== undefined) throw damagedFile(store, file, fault);
  return bytes;
}

/** The same for a file that is read in sequence: a large one isn't kept in memory. */
export async function checkedSource(
  store: Store,
  file: DataFile,
  workspace: Pick<Workspace, 'newPath' | 'faults'>,
): Promise<ParquetSource> {
  return file.size > wholeBytes ? checkedFile(store, file, workspace) : checkedBytes(store, file);
}

/**
 * The same as a local file: the lake's file, or a copy where the lake isn't on the local disk, or with `isCopied`. Where DuckDB can't
 * read it, its error is a DamagedFile with the file's slice.
 */
export async function checkedFile(
  store: Store,
  file: DataFile,
  { newPath, faults }: Pick<Workspace, 'newPath' | 'faults'>,
  { isCopied = false } = {},
): Promise<string> {
  const localPath = isCopied ? undefined : store.localPath(file.lakePath);
  const path = localPath ?? newPath();
  faults.set(path, (text) => {
    const slice = loadKeysText(file.loadKeys) || 'no slice';
    return damagedFile(store, file, `it has ${slice} and can't be read (${text})`);
  });
  const copy = localPath === undefined ? path : undefined;
  const fault = contentFault(file, await readContent(store, file.lakePath, { copy, most: file.size }));
  if (fault !== undefined) throw damagedFile(store, file, fault);
  return path;
}

/** What is wrong with a committed file, in words; undefined where it is intact. */
export async function damageOf(store: Store, file: DataFile): Promise<string | undefined> {
  return contentFault(file, await readContent(store, file.lakePath, { most: file.size }));
}

const missing = 'it is missing';

/** What is wrong with a file's bytes; undefined where size and hash are those of the log. */
export function faultOf(file: DataFile, bytes: Uint8Array | undefined): string | undefined {
  return contentFault(file, bytes && contentOf(bytes));
}

function contentFault(file: DataFile, content: FileContent | undefined): string | undefined {
  if (content === undefined) return missing;
  const expected = file.sha256 ?? content.sha256;
  return sizeFault(file, content.size) ?? (content.sha256 === expected ? undefined : 'its bytes have changed');
}

/** What is wrong with the size of a file in bytes; undefined where it is that of the log. */
export function sizeFault({ size }: DataFile, found: number): string | undefined {
  return found === size ? undefined : `it has ${found} bytes instead of ${size}`;
}

/** The error for a committed file with a fault. */
export function damagedFile(store: Store, file: DataFile, fault: string = missing): DamagedFile {
  const advice = 'restore the file from a copy, or run the command that `ledgerlake verify` names';
  return new DamagedFile(store.address(file.lakePath), fault, advice);
}

/** A lake's file as a local file, not verified: the lake's file, or a copy at a new path. Undefined where there is none. */
export async function localFile(store: Store, path: string, newPath: () => string): Promise<string | undefined> {
  const localPath = store.localPath(path);
  if (localPath !== undefined) return (await hasFile(store, path)) ? localPath : undefined;
  const copy = newPath();
  return (await readContent(store, path, { copy })) && copy;
}
