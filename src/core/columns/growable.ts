/** A growing list of 32-bit integers. */
export class Int32List {
  length = 0;
  #cells = new Int32Array(1024);

  push(value: number): number {
    if (this.length === this.#cells.length) {
      const larger = new Int32Array(this.length * 2);
      larger.set(this.#cells);
      this.#cells = larger;
    }
    this.#cells[this.length] = value;
    return this.length++;
  }

  get(index: number): number {
    return this.#cells[index] ?? 0;
  }

  set(index: number, value: number): void {
    this.#cells[index] = value;
  }

  /** The values as they lie in memory; valid until the next `push`. */
  get values(): Int32Array {
    return this.#cells.subarray(0, this.length);
  }

  /** Forgets what lies behind the first `length` values. */
  truncate(length: number): void {
    this.length = length;
  }
}
