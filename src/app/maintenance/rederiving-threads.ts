import { WorkerThread, type ThreadLimits } from '../../core/worker-thread.js';
import { derivedTableOf, rederivedEntries, type RederivedEntries, type StoredEventFile } from './rederived-entries.js';

const threadScript = new URL('./rederiving-thread-main.js', import.meta.url);

/** Concurrent files of a thread: it processes one while the next one is fetched. */
const mostFilesPerThread = 2;

/** Derives the entries of files again: on the caller's thread where the files are small, else on worker threads. */
export class RederivingThreads {
  readonly #limits: ThreadLimits;
  readonly #signal: AbortSignal;
  #isThreaded = false;
  readonly #threads: WorkerThread<StoredEventFile, RederivedEntries>[] = [];

  constructor(limits: ThreadLimits, signal: AbortSignal) {
    this.#limits = limits;
    this.#signal = signal;
  }

  /** Starts threads for files with about these bytes of `raw`. */
  expect(sizes: readonly number[]): void {
    this.#isThreaded = sizes.reduce((sum, size) => sum + size, 0) >= this.#limits.from;
    const threads = this.#isThreaded ? Math.min(this.#mostThreads, sizes.length) : 0;
    while (this.#threads.length < threads) this.#addThread().start();
  }

  /** Maximum number of concurrent files. */
  get mostPending(): number {
    return this.#isThreaded ? mostFilesPerThread * this.#mostThreads : 1;
  }

  /**
   * @returns a handled promise
   * @throws what `rederivedEntries` throws, ENCODER where the thread ended
   */
  entries(events: StoredEventFile): Promise<RederivedEntries> {
    if (this.#isThreaded) return this.#leastBusy().ask(events);
    return rederivedEntries(derivedTableOf(events.pipeline), events, this.#signal);
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #leastBusy(): WorkerThread<StoredEventFile, RederivedEntries> {
    const [least] = this.#threads.toSorted((one, other) => one.waiting - other.waiting);
    if (least !== undefined && (least.waiting === 0 || this.#threads.length === this.#mostThreads)) return least;
    return this.#addThread();
  }

  #addThread(): WorkerThread<StoredEventFile, RederivedEntries> {
    const thread = new WorkerThread<StoredEventFile, RederivedEntries>(
      this.#limits.script ?? threadScript,
      this.#signal,
    );
    this.#threads.push(thread);
    return thread;
  }

  get #mostThreads(): number {
    return this.#limits.threads ?? 2;
  }
}
