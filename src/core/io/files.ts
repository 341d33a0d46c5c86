import { readdir, constants, open, type FileHandle, rename, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';

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
    const { code = '' } = error as NodeJS.ErrnoException;
    // ENXIO: a socket, or a device that isn't there.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO'].includes(code)) return undefined;
    throw error;
  } finally {
    await file?.close();
  }
}

/** `length` bytes of an open file from `start` on, fewer where it ends before. */
export async function readPart(file: FileHandle, start: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
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
  const part = `${path}.${process.pid}.part`;
  try {
    await writeFile(part, content, { mode });
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
}
