/**
 * A promise that several callers wait for. A caller that gives up leaves the others waiting; the work is stopped
 * when the last one has given up.
 */
export class SharedPromise<T> {
  readonly #stop = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#result = work(this.#stop.signal);
    // Each waiter gets the failure; without any left nobody needs it.
    this.#result.catch(() => undefined);
  }

  /** Whether it was stopped because nobody waited any more: who comes now starts anew. */
  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The work's result or failure, or the signal's reason when it aborts first. */
  async wait(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    this.#waiting++;
    let giveUp = (): void => undefined;
    const aborted = new Promise<never>((_resolve, reject) => {
      giveUp = () => {
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', giveUp, { once: true });
    });
    try {
      return await Promise.race([this.#result, aborted]);
    } finally {
      signal.removeEventListener('abort', giveUp);
      if (--this.#waiting === 0) this.#stop.abort(signal.reason);
    }
  }
}
