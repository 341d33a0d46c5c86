import type { Clock } from '../../src/core/clock.js';

interface Sleeper {
  readonly due: number;
  wake(): void;
}

/**
 * A clock that stands still until a test moves it. Sleepers wake in the order of their instants, those of the same
 * instant in the order in which they fell asleep, and each sees `now()` at exactly its own instant.
 */
export class HandClock implements Clock {
  #now: number;
  /** By due instant, then by arrival. */
  readonly #sleepers: Sleeper[] = [];

  /** `start`: milliseconds since 1970, or an ISO 8601 text. */
  constructor(start: number | string = 0) {
    this.#now = typeof start === 'number' ? start : Date.parse(start);
    if (!Number.isFinite(this.#now)) throw new TypeError(`expected an instant to start at, got \`${start}\``);
  }

  now(): number {
    return this.#now;
  }

  /** How many sleep at present. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** When the next sleeper wakes: milliseconds since 1970; undefined while nobody sleeps. */
  get nextWake(): number | undefined {
    return this.#sleepers[0]?.due;
  }

  /** What is not in the future is over at once, without a move of the clock. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (!(ms > 0)) {
        resolve();
        return;
      }
      const giveUp = (): void => {
        this.#sleepers.splice(this.#sleepers.indexOf(sleeper), 1);
        reject(signal?.reason as Error);
      };
      const sleeper: Sleeper = {
        due: this.#now + ms,
        wake: () => {
          signal?.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      const later = this.#sleepers.findIndex((other) => other.due > sleeper.due);
      this.#sleepers.splice(later === -1 ? this.#sleepers.length : later, 0, sleeper);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /**
   * Moves on by milliseconds. On the way every sleeper whose time comes wakes, one by one, and whatever promises hang
   * on it settle before the next one does: a sleeper that lies down again on the way wakes again on the way.
   */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new TypeError(`expected \`ms\` to be 0 or more, got \`${ms}\`; \`jump\` goes back`);
    const target = this.#now + ms;
    await settled();
    for (let next = this.#sleepers[0]; next !== undefined && next.due <= target; next = this.#sleepers[0]) {
      this.#now = Math.max(this.#now, next.due);
      this.#sleepers.shift();
      next.wake();
      await settled();
    }
    this.#now = target;
  }

  /** Moves on to an instant: milliseconds since 1970. See `advance`. */
  advanceTo(instant: number): Promise<void> {
    return this.advance(instant - this.#now);
  }

  /**
   * Moves from sleeper to sleeper until the promise is settled, and hands on what it settled to. Work on sockets is
   * waited for only while nobody sleeps, so this is for one chain of work and not for a race between two.
   *
   * @throws Error when the promise is still open once `limitMs` have gone by on this clock
   */
  async until<T>(promise: Promise<T>, limitMs = 86_400_000): Promise<T> {
    const limit = this.#now + limitMs;
    const state = { open: true };
    const close = (): void => {
      state.open = false;
    };
    promise.then(close, close);
    await settled();
    while (state.open) {
      const next = this.#sleepers[0]?.due;
      if (next !== undefined && next > limit) throw new Error(`still open after ${limitMs} ms`);
      await (next === undefined ? settled() : this.advanceTo(Math.max(next, this.#now)));
    }
    return promise;
  }

  /** Sets the time, back too, and wakes nobody: what a user or a time server does to a real clock. */
  jump(instant: number): void {
    this.#now = instant;
  }
}

/** Resolves once every promise chain that can run on without a timer or a socket has done so. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
