/** Runs one task at a time, in the order of asking: a mutex. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a task once those before it have ended, however they did; resolves, or rejects, as the task does. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
