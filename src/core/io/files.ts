import { readdir, readFile, constants, mkdir, open, type FileHandle, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { messageOf, systemCode, usageError } from '../errors.js';
import { printable } from '../printable.js';

/**
 * Completes a typed path: files and folders whose paths begin with it, folders with a slash at the end. Empty where the
 * folder doesn't exist.
 */
export async function completePath(typed: string): Promise<readonly string[]> {
  const end = typed.lastIndexOf('/') + 1;
  const [folder, begun] = [typed.slice(0, end), typed.slice(end)];
  const entries = await readdir(resolve(folder), { withFileTypes: true }).catch(() => []);
  return entries
    .filter(({ name }) => name.startsWith(begun) && (begun !== '' || !name.startsWith('.')))
    .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .toSorted();
}

const openFaults: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
  ENOTDIR: 'a part of its path is a file',
  EISDIR: 'it is a folder',
};

/** Whether the system refuses to open a file for a reason that another path solves. */
export function isOpenFault(error: unknown): boolean {
  return (systemCode(error) ?? '') in openFaults;
}

/** The reason why the system can't open a file, in words. */
export function openFault(error: unknown): string {
  return openFaults[systemCode(error) ?? ''] ?? messageOf(error);
}

/**
 * Creates a folder and its missing parents. Returns the first folder created; undefined where all existed. Folders are
 * created one by one, because Node's recursive `mkdir` never ends where an existing folder answers ENOENT, as /proc
 * does. Throws the system's error.
 */
export async function makeFolders(folder: string, mode = 0o777): Promise<string | undefined> {
  if (await isFolder(folder)) return undefined;
  const missing = [resolve(folder)];
  for (let at = dirname(resolve(folder)); !(await exists(at)); at = dirname(at)) missing.push(at);
  for (const path of missing.toReversed()) {
    try {
      await mkdir(path, { mode });
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
      // Another process may have created it. For a dangling link the system's error on the whole path is more precise.
      if (!(await isFolder(path))) await mkdir(folder, { mode });
    }
  }
  return missing.at(-1);
}

/** Whether a folder exists; also false where the system doesn't say. */
export function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Whether something exists or may exist at a path; true for the root of the file system. */
function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => dirname(path) === path || systemCode(error) !== 'ENOENT',
  );
}

/** Opens a file to read. A link is followed, a FIFO is not waited for. Throws the system's error. */
export function openToRead(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

/** The same where others may have put anything at the path: a link is an error (ELOOP). */
export function openUnlinked(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

/**
 * The bytes of a regular file; undefined where there is none. Anything else that others may have put at the path is
 * neither followed nor waited for: a link, a FIFO, a socket, a device.
 */
export async function readPlainFile(path: string): Promise<Buffer | undefined> {
  let file;
  try {
    file = await openUnlinked(path);
    return (await file.stat()).isFile() ? await file.readFile() : undefined;
  } catch (error) {
    // ENXIO: a socket, or a missing device.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  } finally {
    await file?.close();
  }
}

/**
 * The bytes of a file that was found or that a found file names: a link is followed, but a FIFO or a device, which may
 * never end, is an error. Throws it, and the system's errors.
 */
export async function readFoundFile(path: string): Promise<Buffer> {
  const file = await openToRead(path);
  try {
    const found = await file.stat();
    // A folder has an error of the system's own.
    if (!found.isFile() && !found.isDirectory()) throw new Error('a FIFO or a device');
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/**
 * The text of a file that the user names: UTF-8, without its BOM.
 *
 * @param what it has, for the error
 * @throws LedgerlakeError USAGE for a file that can't be read, and for bytes that are no UTF-8
 */
export async function readTextFile(path: string, what: string): Promise<string> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw usageError(`expected ${what} in ${printable(path)}, got ${printable(messageOf(error))}`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usageError(
      `expected ${printable(path)} to be UTF-8, got other bytes; save it as UTF-8 (of a spreadsheet: CSV UTF-8)`,
    );
  }
}

/** `length` bytes of an open file from `start` on, fewer where the file ends earlier. */
export async function readFileRange(file: FileHandle, start: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, start + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
