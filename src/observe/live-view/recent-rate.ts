/** Seconds that a rate is taken over: a page every two seconds should not make it jump. */
const span = 20;

/** How many things a second there were of late. */
export class RecentRate {
  /** By the second, since 1970. */
  readonly #counts = new Map<number, number>();
  #since: number | undefined;

  /** @param now milliseconds since 1970 */
  add(count: number, now: number): void {
    const second = Math.floor(now / 1000);
    this.#since ??= now;
    this.#counts.set(second, (this.#counts.get(second) ?? 0) + count);
    for (const old of this.#counts.keys()) if (old <= second - span) this.#counts.delete(old);
  }

  /** A second; 0 where there was nothing of late. */
  at(now: number): number {
    const first = Math.floor(now / 1000) - span;
    let sum = 0;
    for (const [second, count] of this.#counts) if (second > first) sum += count;
    const seconds = this.#since === undefined ? span : Math.min(span, (now - this.#since) / 1000);
    return sum / Math.max(1, seconds);
  }
}
