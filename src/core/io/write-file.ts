import { randomUUID } from 'node:crypto';
import { type FileHandle, constants, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Opens a new file to write and to read. What is written is appended. Nothing that others may have put at the path is
 * followed, waited for or changed: a file, a link, a FIFO.
 *
 * @throws the system's error, EEXIST where anything is at the path
 */
export function openNewFile(path: string, mode = 0o666): Promise<FileHandle> {
  return open(
    path,
    constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    mode,
  );
}

interface NewFileOptions {
  /** Its permissions. */
  readonly mode?: number;
  /** Whether the content survives a crash of the machine once this resolves. */
  readonly isFlushed?: boolean;
}

/**
 * Creates a file with its content; removes it where writing fails.
 *
 * @throws the system's error, EEXIST where anything is at the path
 */
export async function writeNewFile(
  path: string,
  content: string | Uint8Array,
  { mode, isFlushed = false }: NewFileOptions = {},
): Promise<void> {
  const file = await openNewFile(path, mode);
  try {
    await file.writeFile(content);
    if (isFlushed) await file.sync();
  } catch (error) {
    await file.close();
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
  await file.close();
}

/** A new name beside a path, for a file that is renamed to it once it is complete. Nobody can guess it. */
export function temporaryPath(path: string): string {
  return join(dirname(path), `.${randomUUID()}.part`);
}

/** Whether a file's name is one of `temporaryPath`. */
export function isTemporaryName(name: string): boolean {
  return /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/.test(name);
}

/**
 * Replaces a file atomically: a reader finds either the old content or the new one. A link is replaced, not followed.
 * `mode`: its permissions. Throws the system's error, and then the old file remains.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const temporary = temporaryPath(path);
  await writeNewFile(temporary, content, mode === undefined ? {} : { mode });
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * Appends to a file, which is created where it is missing; either way only the user can read it then. Throws the
 * system's error for a link, and an error for a FIFO or a device, neither of which is waited for.
 */
export async function appendToFile(path: string, content: string | Uint8Array): Promise<void> {
  const mode = 0o600;
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error(`expected a file at ${path}, got a FIFO or a device; move it away`);
    // The file may have been created or copied with other permissions.
    if ((found.mode & 0o777) !== mode) await file.chmod(mode);
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}
