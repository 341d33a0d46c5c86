import type { KeepRaw } from '../finances/rows.js';

/** One piece of memory for the events of one part after the other, as they were received, so that no page needs to be held. */
export class RawMemory {
  readonly #size: number;
  #piece: Buffer | undefined;
  #used = 0;

  /** @param size bytes; events beyond it have memory of their own */
  constructor(size: number) {
    this.#size = size;
  }

  readonly keep: KeepRaw = (page, start, end) => {
    const bytes = page.subarray(start, end);
    if (this.#used + bytes.length > this.#size) return { page: Buffer.from(bytes), start: 0, end: bytes.length };
    // Pages of memory that were never written to take none: the size is a limit, and no expense.
    this.#piece ??= Buffer.from(new ArrayBuffer(this.#size));
    const from = this.#used;
    this.#piece.set(bytes, from);
    this.#used += bytes.length;
    return { page: this.#piece, start: from, end: this.#used };
  };

  /** Gives the memory out anew: nobody may use what lies in it any more. */
  clear(): void {
    this.#used = 0;
  }
}
