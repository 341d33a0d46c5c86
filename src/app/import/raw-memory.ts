import { MemoryPiece } from '../../core/columns/memory.js';
import type { KeepRaw } from '../../sources/finances/model/slice-rows.js';

/** One piece of memory for the events of one part after the other, as they were received, so that no page needs to be held. */
export class RawMemory {
  readonly #piece: MemoryPiece;
  /** The piece, as events' bytes are asked for. */
  #page: Buffer | undefined;

  /** @param size bytes; events beyond it have memory of their own */
  constructor(size: number) {
    this.#piece = new MemoryPiece(size);
  }

  readonly keep: KeepRaw = (page, start, end) => {
    const bytes = page.subarray(start, end);
    const from = this.#piece.take(bytes.length);
    if (from === undefined) return { page: Buffer.from(bytes), start: 0, end: bytes.length };
    this.#page ??= Buffer.from(this.#piece.buffer);
    this.#page.set(bytes, from);
    return { page: this.#page, start: from, end: from + bytes.length };
  };

  /** Gives the memory out anew: nobody may use what lies in it any more. */
  clear(): void {
    this.#piece.clear();
  }
}
