/** Sizes that are tried one after the other where a page is too large for the service. */
const steps = [100, 50, 25, 10, 5, 2, 1];
/** Pages in a row that must come before a larger one is tried. */
const goodPagesBeforeLarger = 5;

/** How many results a page are asked for: fewer where pages are too large, then slowly more again. */
export class PageSize {
  readonly #full: number;
  #now: number;
  #good = 0;
  /** No larger ones any more: the service doesn't take another size in the midst of a chain. */
  #isFixed = false;

  /** `now`: what the pages before were asked with. */
  constructor(full: number, now = full) {
    this.#full = full;
    this.#now = Math.min(now, full);
  }

  get now(): number {
    return this.#now;
  }

  /** Takes the next smaller size; false where there is none. */
  shrink(): boolean {
    const smaller = steps.find((step) => step < this.#now);
    this.#good = 0;
    if (smaller === undefined) return false;
    this.#now = smaller;
    return true;
  }

  /** A page came. */
  grow(): void {
    if (this.#isFixed || this.#now >= this.#full || ++this.#good < goodPagesBeforeLarger) return;
    this.#good = 0;
    this.#now = Math.min(this.#full, this.#now * 2);
  }

  /** Stays at this size to the end of the chain, but for smaller ones. */
  fix(size: number): void {
    this.#isFixed = true;
    this.#now = size;
  }
}
