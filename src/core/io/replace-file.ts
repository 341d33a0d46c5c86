import { rename, rm, writeFile } from 'node:fs/promises';

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
