import type { Clock } from '../../core/clock.js';

/** An answer that is still on its way. */
export interface SlowAnswer {
  /** Since the request was sent. */
  readonly seconds: number;
  /** Of its body so far. */
  readonly bytes: number;
}

/** Code of the error for an answer that isn't whole in time. */
export const answerTimeout = 'ANSWER_TIMEOUT';

/** Milliseconds from the request on after which an answer counts as slow, and between two reports of it. */
const slowMs = 30_000;

/** The time that an answer takes from its request to its last byte. */
export class WholeAnswer {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #onSlow: ((slow: SlowAnswer) => void) | undefined;
  readonly #since: number;
  #reportAt: number;

  constructor(clock: Clock, timeoutMs: number, onSlow: ((slow: SlowAnswer) => void) | undefined) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#onSlow = onSlow;
    this.#since = clock.now();
    this.#reportAt = this.#since + slowMs;
  }

  /**
   * Called with each piece of the answer. What sends nothing at all ends by the timeouts of the connection.
   *
   * @param bytes of the body so far
   * @throws Error with the code `answerTimeout` where the answer takes too long
   */
  check(bytes: number): void {
    const now = this.#clock.now();
    if (now - this.#since > this.#timeoutMs) {
      const message = `no whole answer after ${Math.round(this.#timeoutMs / 1000)} s, ${bytes} bytes so far`;
      throw Object.assign(new Error(message), { code: answerTimeout });
    }
    if (now < this.#reportAt) return;
    this.#reportAt = now + slowMs;
    this.#onSlow?.({ seconds: (now - this.#since) / 1000, bytes });
  }
}
