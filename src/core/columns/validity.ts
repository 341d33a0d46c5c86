import { ownMemory, type ColumnMemory } from './memory.js';

/** Marks which values are there; Arrow's bitmap has a bit for each, least significant first. */
export class Validity {
  nullCount = 0;
  readonly #bits: Uint8Array;

  constructor(length: number, memory: ColumnMemory = ownMemory) {
    this.#bits = memory.bytes((length + 7) >> 3).fill(0xff);
  }

  setNull(row: number): void {
    this.nullCount++;
    this.#bits[row >> 3] = (this.#bits[row >> 3] ?? 0) & ~(1 << (row & 7));
  }

  /** The bitmap, left out where nothing is null. */
  get nulls(): { nullCount: number; nullBitmap?: Uint8Array } {
    return this.nullCount === 0 ? { nullCount: 0 } : { nullCount: this.nullCount, nullBitmap: this.#bits };
  }
}
