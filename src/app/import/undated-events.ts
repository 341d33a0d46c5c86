import { appendFile } from 'node:fs/promises';
import type { ImportSpan } from '../../lake/delta/file-tags.js';

/** An event without a date, as its part of the input has placed it. */
export interface UndatedEvent {
  /** Number of its staged month; `leftOut` where its day isn't open. */
  readonly staged: number;
  readonly contentHash: string;
  /** Unique in the input. */
  readonly eventId: string;
  /** Start of its day. */
  readonly day: number;
  /** The how many-th of its kind in the day. */
  readonly times: number;
}

/** In place of the number of a staged month. */
export const leftOut = -1;

/**
 * The events without a date of one input, on the local disk, as which of them are new shows once the input is read to its
 * end: only then its span is known.
 */
export class UndatedEvents {
  /** A CSV file without a header, with the columns of `UndatedEvent` in order; not there where `length` is 0. */
  readonly path: string;
  length = 0;
  #months = 0;
  #lines: string[] = [];
  #first = Infinity;
  #last = -Infinity;

  /** `path`: a file that isn't there yet. */
  constructor(path: string) {
    this.path = path;
  }

  /** From the first to the last date of the input so far. */
  get span(): ImportSpan {
    return { first: this.#first, last: this.#last };
  }

  /** Takes in the date of another event. */
  reach(date: number): void {
    if (date < this.#first) this.#first = date;
    if (date > this.#last) this.#last = date;
  }

  /** The number of the next staged month. */
  nextMonth(): number {
    return this.#months++;
  }

  add({ staged, contentHash, eventId, day, times }: UndatedEvent): void {
    this.length++;
    this.#lines.push(`${staged},${contentHash},${eventId},${day},${times}\n`);
  }

  /** Writes what was added since. */
  async flush(): Promise<void> {
    if (this.#lines.length > 0) await appendFile(this.path, this.#lines.join(''), { mode: 0o600 });
    this.#lines = [];
  }
}
