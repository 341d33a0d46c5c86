import { openToRead, readFileRange } from '../../core/io/files.js';
import { appendToFile } from '../../core/io/write-file.js';
import type { UndatedLines } from './chunks/chunk-flattener.js';

/** Bytes that are read at once. */
const readBytes = 1_000_000;

/** The events without a date of one input, as lines on the local disk until their spans are known. */
export class UndatedEvents {
  /** Their content hashes. */
  readonly contents: string[] = [];
  /** The number of each one's page in the input. */
  readonly pages: number[] = [];
  readonly #ends: number[] = [];
  readonly #path: string;

  /** @param path of a file that does not exist yet */
  constructor(path: string) {
    this.#path = path;
  }

  /** Bytes of all lines. */
  get bytes(): number {
    return this.#ends.at(-1) ?? 0;
  }

  /** @param firstPage number of the chunk's first line in the input */
  async add({ bytes, ends, lines, contents }: UndatedLines, firstPage: number): Promise<void> {
    if (contents.length === 0) return;
    const before = this.#ends.at(-1) ?? 0;
    for (const [at, content] of contents.entries()) {
      this.contents.push(content);
      this.pages.push(firstPage + (lines[at] ?? 0));
      this.#ends.push(before + (ends[at] ?? 0));
    }
    await appendToFile(this.#path, bytes);
  }

  /** The lines of some events, in order. */
  async *lines(numbers: readonly number[]): AsyncGenerator<{ readonly number: number; readonly bytes: Uint8Array }> {
    if (numbers.length === 0) return;
    const file = await openToRead(this.#path);
    try {
      let block = new Uint8Array();
      let blockStart = 0;
      for (const number of numbers) {
        const start = this.#ends[number - 1] ?? 0;
        const end = this.#ends[number] ?? 0;
        if (start < blockStart || end > blockStart + block.length) {
          block = await readFileRange(file, start, Math.max(readBytes, end - start));
          blockStart = start;
        }
        if (end > blockStart + block.length) throw new Error(`expected ${end} bytes in ${this.#path}`);
        yield { number, bytes: block.subarray(start - blockStart, end - blockStart) };
      }
    } finally {
      await file.close();
    }
  }
}
