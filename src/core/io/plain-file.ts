import { constants, open } from 'node:fs/promises';

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
