import { Heap } from './heap.js';

interface Due {
  readonly at: number;
  readonly order: number;
  readonly happen: () => void;
}

/** A clock that jumps from one thing that is due to the next: those of the same instant in the order of their asking. */
export class Timeline {
  #now: number;
  #asked = 0;
  readonly #due = new Heap<Due>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));

  /** `start`: milliseconds since 1970. */
  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  /** Has something happen at an instant; what should have happened already happens next. */
  at(instant: number, happen: () => void): void {
    this.#due.push({ at: Math.max(instant, this.#now), order: this.#asked++, happen });
  }

  /** Lets happen what is due up to an instant, and what comes of it, and ends there. */
  runTo(end: number): void {
    for (let next = this.#due.first; next !== undefined && next.at <= end; next = this.#due.first) {
      this.#due.pop();
      this.#now = next.at;
      next.happen();
    }
    this.#now = Math.max(this.#now, end);
  }
}
