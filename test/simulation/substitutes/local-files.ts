import * as fs from 'node:fs';
import type { FileHandle as RealHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { currentProcess } from '../world/world.js';

/*
 * Replaces `node:fs/promises`, and `createReadStream` of `node:fs`: the same files without threads, so that the order of what happens
 * is determined. A process that is dead gets no answer.
 */

export type FileHandle = RealHandle;
export const constants = fs.constants;

/** Does the call at once, as one of the process's. */
async function done<T>(call: () => T): Promise<T> {
  const end = currentProcess()?.call() ?? 'alive';
  if (end === 'dead') return never();
  try {
    const value = call();
    return end === 'last' ? await never() : value;
  } catch (error) {
    if (end === 'last') return never();
    throw error;
  }
}

function never(): Promise<never> {
  return new Promise<never>(() => undefined);
}

type Options = Record<string, unknown> | string | undefined;

export const access = (path: string, mode?: number) =>
  done(() => {
    fs.accessSync(path, mode);
  });
export const stat = (path: string) => done(() => fs.statSync(path));
export const lstat = (path: string) => done(() => fs.lstatSync(path));
export const readlink = (path: string) => done(() => fs.readlinkSync(path));
export const realpath = (path: string) => done(() => fs.realpathSync(path));
export const readFile = (path: string, options?: BufferEncoding) => done(() => fs.readFileSync(path, options));
export const mkdir = (path: string, options?: fs.MakeDirectoryOptions) => done(() => fs.mkdirSync(path, options));
export const mkdtemp = (prefix: string) => done(() => fs.mkdtempSync(prefix));
export const rmdir = (path: string) =>
  done(() => {
    fs.rmdirSync(path);
  });
export const rm = (path: string, options?: fs.RmOptions) =>
  done(() => {
    fs.rmSync(path, options);
  });
export const unlink = (path: string) =>
  done(() => {
    fs.unlinkSync(path);
  });
export const rename = (from: string, to: string) =>
  done(() => {
    fs.renameSync(from, to);
  });
export const utimes = (path: string, accessed: Date, modified: Date) =>
  done(() => {
    fs.utimesSync(path, accessed, modified);
  });
export const link = (from: string, to: string) =>
  done(() => {
    fs.linkSync(from, to);
  });
export const readdir = (path: string, options?: Options) =>
  done(() => {
    const entries = fs.readdirSync(path, options as { withFileTypes: true });
    // The system's order is not determined.
    return entries.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  });

function nameOf(entry: fs.Dirent | string): string {
  return typeof entry === 'string' ? entry : entry.name;
}

/** An open file. */
class LocalHandle {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  stat = () => done(() => fs.fstatSync(this.#descriptor));
  readFile = () => done(() => fs.readFileSync(this.#descriptor));
  sync = () => Promise.resolve();
  chmod = (mode: number) =>
    done(() => {
      fs.fchmodSync(this.#descriptor, mode);
    });
  writeFile = (content: string | Uint8Array) =>
    done(() => {
      fs.writeFileSync(this.#descriptor, content);
    });
  write = (bytes: Uint8Array, ...rest: readonly (number | null)[]) =>
    done(() => ({ bytesWritten: fs.writeSync(this.#descriptor, bytes, ...(rest as [number, number, number])) }));
  read = (bytes: Uint8Array, offset: number, length: number, position: number) =>
    done(() => ({ bytesRead: fs.readSync(this.#descriptor, bytes, offset, length, position) }));
  close = () => {
    fs.closeSync(this.#descriptor);
    return Promise.resolve();
  };
}

export const open = (path: string, flags: string | number, mode?: number) =>
  done(() => new LocalHandle(fs.openSync(path, flags, mode)));

/** A stream of a file's bytes, a megabyte at a time. */
export function createReadStream(path: string, options: { readonly start?: number; readonly end?: number } = {}) {
  const chunks = function* () {
    const bytes = fs
      .readFileSync(path)
      .subarray(options.start ?? 0, options.end === undefined ? undefined : options.end + 1);
    for (let at = 0; at < bytes.length; at += 1 << 20) yield bytes.subarray(at, at + (1 << 20));
  };
  return Readable.from(chunks());
}

export {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  closeSync,
  fstatSync,
  openSync,
  readSync,
} from 'node:fs';
