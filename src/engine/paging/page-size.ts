/** Sizes that are tried one after the other where a page is too large for the service. */
const steps = [100, 50, 25, 10, 5, 2, 1];
/** Pages that must come before a larger one is tried; after each larger one that is refused twice as many, up to … */
const goodPagesBeforeLarger = 5;
const mostPagesBeforeLarger = 320;

/** The size that an operation's pages were found to be good for, which all its chains begin with. */
export class FoundSize {
  #size = Infinity;
  #good = 0;
  #patience = goodPagesBeforeLarger;
  /** A larger size that is being tried. */
  #tried: number | undefined;

  get size(): number {
    return this.#size;
  }

  /** Pages of this size are refused, and such of a smaller one are not. */
  refused(size: number, smaller: number): void {
    if (size === this.#tried) this.#patience = Math.min(this.#patience * 2, mostPagesBeforeLarger);
    this.#tried = undefined;
    this.#size = smaller;
    this.#good = 0;
  }

  /** A page of this size came; gives the size to go on with. */
  came(size: number, full: number): number {
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

/** How many results a page a chain asks for: fewer where pages are too large, then slowly more again. */
export class PageSize {
  readonly #full: number;
  readonly #found: FoundSize;
  #now: number;
  /** The size that was refused first since the last page came. */
  #refused: number | undefined;
  /** No larger ones any more: the service doesn't take another size in the midst of a chain. */
  #isFixed = false;

  /** `before`: what pages that are known already were asked with. */
  constructor(full: number, found: FoundSize, before = full) {
    this.#full = full;
    this.#found = found;
    this.#now = Math.min(full, found.size, before);
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
    const smaller = steps.find((step) => step < this.#now);
    if (smaller === undefined) return false;
    this.#refused ??= this.#now;
    this.#now = smaller;
    return true;
  }

  /** A page came. */
  grow(): void {
    if (this.#refused !== undefined) this.#found.refused(this.#refused, this.#now);
    this.#refused = undefined;
    if (!this.#isFixed && this.#now < this.#full) this.#now = this.#found.came(this.#now, this.#full);
  }

  /** Stays at this size to the end of the chain, but for smaller ones. */
  fix(size: number): void {
    if (this.#now > size) this.#found.refused(this.#now, size);
    this.#isFixed = true;
    this.#now = size;
    this.#refused = undefined;
  }
}
