import { dayMs, type Window } from '../../core/windows.js';

/** So many results were found in a window. */
export interface Sample {
  readonly window: Window;
  readonly results: number;
}

/** Days by which a sample may be off and still count for half as much. */
const nearDays = 14;

/** How many results days have, from what windows near them had. */
export class Density {
  readonly #known: readonly Sample[];
  /** Of slices that are being read or were, by name: the newest word of each. */
  readonly #learned = new Map<string, Sample>();

  constructor(known: readonly Sample[]) {
    this.#known = known.filter(({ window }) => window.end > window.start);
  }

  /** Takes in how many results a slice has had, up to where it was read. */
  learn(slice: string, sample: Sample): void {
    if (sample.window.end > sample.window.start) this.#learned.set(slice, sample);
  }

  /** Results to be expected in a window; undefined while nothing is known. */
  expected(window: Window): number | undefined {
    let results = 0;
    let days = 0;
    for (const { window: other, results: found } of [...this.#known, ...this.#learned.values()]) {
      const far = Math.abs(other.start + other.end - window.start - window.end) / 2 / dayMs;
      const weight = 1 / (1 + far / nearDays) ** 2;
      results += weight * found;
      days += (weight * (other.end - other.start)) / dayMs;
    }
    return days === 0 ? undefined : (results / days) * ((window.end - window.start) / dayMs);
  }
}
