import { open, rm, type FileHandle } from 'node:fs/promises';
import { readPart } from '../../core/io/files.js';

/** A list of ids that a log holds. */
export class IdList {
  /** Undefined once it is in the file. */
  memory: Int32Array | undefined;
  readonly bytes: number;
  /** Its first byte in the file. */
  at = 0;

  constructor(words: Int32Array) {
    this.memory = words;
    this.bytes = words.byteLength;
  }
}

/** Lists of ids: in memory as far as they may be, those that came first in a file. */
export class IdLog {
  readonly #mostBytes: number;
  readonly #path: string;
  /** Those in memory, the first one first. */
  readonly #inMemory = new Set<IdList>();
  #bytes = 0;
  #file: FileHandle | undefined;
  #end = 0;

  /** `path`: a file that isn't there yet. */
  constructor(mostBytes: number, path: string) {
    this.#mostBytes = mostBytes;
    this.#path = path;
  }

  /** Takes words over. */
  async add(words: Int32Array): Promise<IdList> {
    const list = new IdList(words);
    this.#inMemory.add(list);
    this.#bytes += list.bytes;
    for (const first of this.#inMemory) {
      if (this.#bytes <= this.#mostBytes) break;
      await this.#spill(first);
    }
    return list;
  }

  /** The words of a list; not to be changed. */
  async read({ memory, bytes, at }: IdList): Promise<Int32Array> {
    if (memory !== undefined) return memory;
    const read = this.#file && (await readPart(this.#file, at, bytes));
    if (read?.length !== bytes) throw new Error(`expected ${bytes} bytes of ids at ${at} of ${this.#path}`);
    return new Int32Array(read.buffer);
  }

  /** What is in the file stays there until it is closed. */
  remove(list: IdList): void {
    if (this.#inMemory.delete(list)) this.#bytes -= list.bytes;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    await rm(this.#path, { force: true });
  }

  async #spill(list: IdList): Promise<void> {
    const { memory, bytes } = list;
    if (memory === undefined) return;
    this.#file ??= await open(this.#path, 'wx+', 0o600);
    const { bytesWritten } = await this.#file.write(memory, 0, bytes, this.#end);
    if (bytesWritten !== bytes) throw new Error(`expected room for ${bytes} bytes in ${this.#path}`);
    list.at = this.#end;
    list.memory = undefined;
    this.#end += bytes;
    this.remove(list);
  }
}
