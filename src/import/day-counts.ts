import { Dictionary } from '../columns/dictionary.js';
import { Int32List } from '../columns/growable.js';

/** How often each event of a day has come, by the bytes of its id. */
class DayIds {
  readonly #ids = new Dictionary();
  readonly #times = new Int32List();

  get length(): number {
    return this.#ids.length;
  }

  count(id: Uint8Array): number {
    const known = this.#ids.length;
    const number = this.#ids.add(id, 0, id.length);
    if (number === known) this.#times.push(0);
    const times = this.#times.get(number) + 1;
    this.#times.set(number, times);
    return times;
  }
}

/**
 * How often the events of an input have come so far, day by day. It holds so many distinct events at most; of the days that
 * came least recently it forgets what it knew then: an input in order of time never comes back to them.
 */
export class DayCounts {
  readonly #most: number;
  /** The day that came least recently first. */
  readonly #days = new Map<number, DayIds>();
  readonly #forgotten = new Set<number>();
  readonly #id = Buffer.alloc(32);
  #held = 0;
  #latest: number | undefined;

  /** `most`: distinct events to hold, at about 35 bytes each. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The how many-th of its kind an event is, as far as is known; `id` in hex, `day` its start. */
  count(day: number, id: string): number {
    const ids = this.#day(day);
    const before = ids.length;
    const length = this.#id.write(id, 'hex');
    const times = ids.count(this.#id.subarray(0, length));
    this.#held += ids.length - before;
    return times;
  }

  /** Whether all that came of a day is known. */
  knows(day: number): boolean {
    return !this.#forgotten.has(day);
  }

  /** Forgets until no more is held than should be. Called between parts: a part's own days are known throughout. */
  forget(): void {
    for (const [day, ids] of this.#days) {
      if (this.#held <= this.#most) return;
      this.#days.delete(day);
      this.#forgotten.add(day);
      this.#held -= ids.length;
    }
    this.#latest = undefined;
  }

  #day(day: number): DayIds {
    const known = this.#days.get(day);
    if (known !== undefined && day === this.#latest) return known;
    const ids = known ?? new DayIds();
    // Behind all others.
    this.#days.delete(day);
    this.#days.set(day, ids);
    this.#latest = day;
    return ids;
  }
}
