import { Draw, seedKey } from '../../src/emulator/profiles/seeded-random.js';

/** What a seed decides: equal seeds, equal draws. */
export class Chance {
  readonly #draw = new Draw();

  /** `of`: what the draws are about, so that those about one thing don't move with those about another. */
  constructor(seed: number, of: number) {
    this.#draw.begin(seedKey(seed), of, 1);
  }

  /** From 0 up to 1. */
  share(): number {
    return this.#draw.below(2 ** 32) / 2 ** 32;
  }

  happens(probability: number): boolean {
    return this.share() < probability;
  }

  /** Of an exponential distribution: what comes at any time with equal likelihood. */
  wait(mean: number): number {
    return -mean * Math.log(1 - this.share());
  }

  /** Of a log-normal distribution (Box and Muller). */
  logNormal(median: number, spread: number): number {
    const normal = Math.sqrt(this.wait(2)) * Math.cos(2 * Math.PI * this.share());
    return median * Math.exp(spread * normal);
  }
}
