/** Pages received before a larger size is tried: doubled after each refusal of a larger size, up to the maximum. */
const goodPagesBeforeLarger = 5;
const mostPagesBeforeLarger = 320;

/** The page size that an operation accepts, as learned from its answers. All its queries begin with it. */
export class LearnedPageSize {
  #size = Infinity;
  #good = 0;
  #patience = goodPagesBeforeLarger;
  /** A larger size that is being tried. */
  #tried: number | undefined;

  get size(): number {
    return this.#size;
  }

  /** Records that a size was refused, and a smaller one accepted. */
  refused(size: number, smaller: number): void {
    if (size === this.#tried) this.#patience = Math.min(this.#patience * 2, mostPagesBeforeLarger);
    this.#tried = undefined;
    this.#size = smaller;
    this.#good = 0;
  }

  /** Records a page of this size; returns the size of the next one. */
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

/** The page size of one query: it shrinks where pages are too large, then grows slowly. */
export class PageSize {
  /** The sizes of the API, the largest first. */
  readonly #sizes: readonly number[];
  readonly #full: number;
  readonly #learned: LearnedPageSize;
  #current: number;
  /** The first size refused since the last page. */
  #refused: number | undefined;
  /** It no longer grows: the API accepts no other size after the first page. */
  #isFixed = false;

  /** `before`: the size of the pages received earlier. */
  constructor(sizes: readonly number[], learned: LearnedPageSize, before = Infinity) {
    this.#sizes = sizes;
    this.#full = Math.max(...sizes);
    this.#learned = learned;
    this.#current = Math.min(this.#full, learned.size, before);
  }

  get current(): number {
    return this.#current;
  }

  /** Whether the size is a guess: the previous one was refused, and no page was received since. */
  get isGuess(): boolean {
    return this.#refused !== undefined;
  }

  /** Changes to the next smaller size; false without one. */
  shrink(): boolean {
    const smaller = this.#sizes.find((size) => size < this.#current);
    if (smaller === undefined) return false;
    this.#refused ??= this.#current;
    this.#current = smaller;
    return true;
  }

  /** Records a page of the current size. */
  grow(): void {
    if (this.#refused !== undefined) this.#learned.refused(this.#refused, this.#current);
    this.#refused = undefined;
    if (!this.#isFixed && this.#current < this.#full) this.#current = this.#learned.received(this.#current, this.#full);
  }

  /** Sets the size for all further pages, unless it shrinks. */
  fix(size: number): void {
    if (this.#current > size) this.#learned.refused(this.#current, size);
    this.#isFixed = true;
    this.#current = size;
    this.#refused = undefined;
  }
}
