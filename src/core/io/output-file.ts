import { realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';
import { systemCode, usageError, type LedgerlakeError } from '../errors.js';
import { outputError } from '../text/sink.js';
import { isOpenFault, openFault } from './files.js';
import { openNewFile, temporaryPath } from './write-file.js';

/** A file that gets its name only when it is complete; until then a file of that name remains. */
export interface OutputFile {
  /** As the user wrote it. */
  readonly path: string;
  readonly stream: Writable;
  /** Its path until then, for DuckDB, which writes files itself. */
  readonly temporary: string;
  /** Writes bytes at its end. */
  append(bytes: Uint8Array): Promise<void>;
  /** Runs a function that writes to the stream; where it throws, what it wrote is truncated. */
  atomically<T>(write: () => Promise<T>): Promise<T>;
  /** Gives the file its name, and replaces a file of that name. */
  commit(): Promise<void>;
  /** Deletes the temporary file, unless it was kept. */
  discard(): Promise<void>;
}

/**
 * Opens a temporary file in the folder of `path`.
 *
 * @throws LedgerlakeError USAGE where `path` is a folder, a device or the like, or isn't writable
 */
export async function openOutputFile(path: string): Promise<OutputFile> {
  const target = await regularFile(path);
  const temporary = temporaryPath(target);
  const handle = await openNewFile(temporary).catch((error: unknown) => {
    throw openError(path, dirname(target), error);
  });
  let size = 0;
  const append = async (bytes: Uint8Array): Promise<void> => {
    await handle.appendFile(bytes);
    size += bytes.length;
  };
  const stream = new Writable({
    decodeStrings: true,
    write: (chunk: Buffer, _encoding, done) => {
      append(chunk).then(() => {
        done();
      }, done);
    },
  });
  let isOpen = true;
  return {
    path,
    stream,
    temporary,
    append: (bytes) =>
      append(bytes).catch((error: unknown) => {
        throw outputError(error);
      }),
    atomically: async (write) => {
      const before = size;
      try {
        return await write();
      } catch (error) {
        await handle.truncate(before);
        size = before;
        throw error;
      }
    },
    commit: async () => {
      await handle.sync();
      await handle.close();
      isOpen = false;
      await rename(temporary, target).catch(async (error: unknown) => {
        await rm(temporary, { force: true });
        throw writeFault(path, error);
      });
    },
    discard: async () => {
      if (!isOpen) return;
      isOpen = false;
      await handle.close();
      await rm(temporary, { force: true });
    },
  };
}

function openError(path: string, folder: string, error: unknown): LedgerlakeError {
  const isMissing = systemCode(error) === 'ENOENT';
  const why = isMissing ? `the folder ${folder} does not exist; create it first` : openFault(error);
  return usageError(`expected a file that can be written, got ${path} (${why})`);
}

/** Why a file could not be written: USAGE where its path can't be opened, OUTPUT for anything else, such as a full disk. */
export function writeFault(path: string, error: unknown): LedgerlakeError {
  return isOpenFault(error)
    ? usageError(`expected a file that can be written, got ${path} (${openFault(error)}); name another`)
    : outputError(error);
}

/** The target of a path: a rename would replace a link instead of its file, and would replace a device. */
async function regularFile(path: string): Promise<string> {
  if (path === '') throw usageError('expected a file to write, got an empty name: name one');
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return path;
  if (!found.isFile()) throw usageError(`expected a regular file to write to, got ${path}; name another`);
  return realpath(path);
}
