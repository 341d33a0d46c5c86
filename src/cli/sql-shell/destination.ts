import { openOutputFile, type OutputFile } from '../../core/io/output-file.js';
import type { Output } from '../../core/text/sink.js';
import type { Session } from './session.js';

/** Where a session's results go: to its output, or to a file, which gets its name once they go elsewhere again. */
export class Destination {
  readonly #session: Session;
  readonly #output: Output;
  #file: OutputFile | undefined;

  constructor(session: Session) {
    this.#session = session;
    this.#output = session.output;
  }

  /**
   * Sends results to a file from now on, or back to the output; the file that was written until now, if any, is returned.
   *
   * @throws LedgerlakeError USAGE where the file can't be written: then results go where they went
   */
  async to(path: string | undefined): Promise<string | undefined> {
    const next = path === undefined ? undefined : await openOutputFile(path);
    const last = this.#file;
    this.#file = next;
    this.#session.output = next?.stream ?? this.#output;
    try {
      await last?.keep();
    } finally {
      await last?.drop();
    }
    return last?.path;
  }

  /** Runs work that writes results; where it throws, a file has none of them. */
  whole<T>(work: () => Promise<T>): Promise<T> {
    return this.#file === undefined ? work() : this.#file.whole(work);
  }

  /** Drops a file that hasn't got its name. */
  async drop(): Promise<void> {
    await this.#file?.drop();
  }
}
