import type { IdList } from './id-log.js';

/** Events that are together in one file of the lake, or on their way there, or that didn't have to come in. */
export class Holding {
  /** How many there had been before. */
  readonly order: number;
  /** Number of the input that brought them; undefined for a file that was in the lake. */
  readonly input: number | undefined;
  /** Whether the lake holds them, or will unless the import ends before. */
  readonly isHeld: boolean;
  readonly lists: IdList[] = [];
  /** Start of the first of their days, and of the last one. */
  first = Infinity;
  last = -Infinity;
  /** Of their file, within its table, as soon as it is about to be committed. */
  path: string | undefined;
  isCommitted = false;

  constructor(order: number, input: number | undefined, isHeld: boolean) {
    this.order = order;
    this.input = input;
    this.isHeld = isHeld;
  }

  reach(day: number): void {
    this.first = Math.min(this.first, day);
    this.last = Math.max(this.last, day);
  }
}
