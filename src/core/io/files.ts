import { readdir, constants, mkdir, open, type FileHandle, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { messageOf, systemCode } from '../errors.js';

/** Files and folders whose names begin as typed, as they would be typed: folders end in a slash. None where there is no folder. */
export async function fileNames(typed: string): Promise<readonly string[]> {
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

/** Whether the system refuses to open a file for a reason that another path would solve. */
export function isOpenFault(error: unknown): boolean {
  return (systemCode(error) ?? '') in openFaults;
}

/** Why the system opens no file, in words. */
export function openFault(error: unknown): string {
  return openFaults[systemCode(error) ?? ''] ?? messageOf(error);
}

/**
 * Makes a folder with those on the way to it; the first one that wasn't there, or undefined where all of them were. One by one,
 * as Node's own recursive `mkdir` never ends where a folder that exists says ENOENT to a new one, as /proc does. Throws what
 * the system has against it
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
      // Another process may have made it. Of a link that leads nowhere the system says more about the whole path.
      if (!(await isFolder(path))) await mkdir(folder, { mode });
    }
  }
  return missing.at(-1);
}

/** Whether a folder is there; false also where that can't be found out. */
export function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Whether something exists there, or may exist; true for the root of the file system. */
function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => dirname(path) === path || systemCode(error) !== 'ENOENT',
  );
}

/**
 * The bytes of a plain file; undefined where there is none. What else may have been put in its place, where others can write,
 * is neither followed nor waited for: a link, a FIFO, a socket, a device.
 */
export async function readPlainFile(path: string): Promise<Buffer | undefined> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    return (await file.stat()).isFile() ? await file.readFile() : undefined;
  } catch (error) {
    // ENXIO: a socket, or a device that isn't there.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  } finally {
    await file?.close();
  }
}

/** `length` bytes of an open file from `start` on, fewer where it ends before. */
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

/**
 * Replaces a file at once: whoever opens it finds all of the old content or all of the new one. `mode`: its permissions.
 * Throws what the disk throws, and leaves the old file then.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode = 0o666): Promise<void> {
  const temporary = `${path}.${process.pid}.part`;
  try {
    await writeFile(temporary, content, { mode });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
