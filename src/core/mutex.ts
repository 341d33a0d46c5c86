/** A mutex: runs one task at a time, in the order of calls. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a task once all earlier ones have ended, whether they resolved or rejected; settles as the task does. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
