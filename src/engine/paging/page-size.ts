/** Pages that must come before a larger size is tried; after each larger size that is refused twice as many, up to … */
const goodPagesBeforeLarger = 5;
const mostPagesBeforeLarger = 320;

/** The page size that an operation was found to be able to send, with which all its queries begin. */
export class FoundSize {
  #size = Infinity;
  #good = 0;
  #patience = goodPagesBeforeLarger;
  /** A larger size that is being tried. */
  #tried: number | undefined;

  get size(): number {
    return this.#size;
  }

  /** Pages of this size are refused, and pages of a smaller one are not. */
  refused(size: number, smaller: number): void {
    if (size === this.#tried) this.#patience = Math.min(this.#patience * 2, mostPagesBeforeLarger);
    this.#tried = undefined;
    this.#size = smaller;
    this.#good = 0;
  }

  /** A page of this size came; returns the size to continue with. */
  received(size: number, full: number): number {
    if (size === this.#tried) {
      this.#tried = undefined;
      this.#patience = goodPagesBeforeLarger;
    }
    if (++this.#good < this.#patience) return size;
    this.#good = 0;
    this.#tried = this.#size = Math.min(full, size * 2);
    return this.#size;
  }
}

/** The page size of one query: smaller where pages are too large, then slowly larger again. */
export class PageSize {
  /** The sizes of the API, the largest first. */
  readonly #sizes: readonly number[];
  readonly #full: number;
  readonly #found: FoundSize;
  #now: number;
  /** The size that was refused first since the last page came. */
  #refused: number | undefined;
  /** No larger size any more: the API doesn't accept another one behind the first page. */
  #isFixed = false;

  /** `before`: the size of the pages that are known already. */
  constructor(sizes: readonly number[], found: FoundSize, before = Infinity) {
    this.#sizes = sizes;
    this.#full = Math.max(...sizes);
    this.#found = found;
    this.#now = Math.min(this.#full, found.size, before);
  }

  get now(): number {
    return this.#now;
  }

  /** Whether the size is a guess: the one before it was refused, and no page has come since. */
  get isGuess(): boolean {
    return this.#refused !== undefined;
  }

  /** Takes the next smaller size; false where there is none. */
  shrink(): boolean {
    const smaller = this.#sizes.find((size) => size < this.#now);
    if (smaller === undefined) return false;
    this.#refused ??= this.#now;
    this.#now = smaller;
    return true;
  }

  /** A page came. */
  grow(): void {
    if (this.#refused !== undefined) this.#found.refused(this.#refused, this.#now);
    this.#refused = undefined;
    if (!this.#isFixed && this.#now < this.#full) this.#now = this.#found.received(this.#now, this.#full);
  }

  /** Stays at this size to the last page, but for smaller sizes. */
  fix(size: number): void {
    if (this.#now > size) this.#found.refused(this.#now, size);
    this.#isFixed = true;
    this.#now = size;
    this.#refused = undefined;
  }
}
