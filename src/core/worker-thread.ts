import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { parentPort, Worker } from 'node:worker_threads';
import { LedgerlakeError, messageOf, type ErrorCode } from './errors.js';
import { threadStarts } from './v8-flags.js';

/** The rows that a thread works on lie outside the heap: one that needs more than this has gone wrong, and dies alone. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 6 };

/** When threads are worth their start, and how many there are. */
export interface ThreadLimits {
  /** Bytes of input from which on some are used; Infinity: never. */
  readonly from: number;
  /** How many work side by side, where they do; left out: two. */
  readonly threads?: number | undefined;
  /** What each runs, where it isn't the program's own. */
  readonly script?: URL | undefined;
}

/** Limits for so many threads: with one, the caller's does all. */
export function threadLimitsOf(threads: number): ThreadLimits {
  // Below, a thread gains nothing by the clock and costs half a CPU second: docs/performance.md.
  return { from: threads > 1 ? 48_000_000 : Infinity, threads };
}

/** As many as there are cores. */
export const threadLimits = threadLimitsOf(availableParallelism());

/** What a thread is asked. */
interface Message<Question> {
  readonly id: number;
  readonly question: Question;
}

/** What it answers. */
type Reply<Answer> = { readonly id: number } & (
  { readonly answer: Answer } | { readonly message: string; readonly code: ErrorCode }
);

interface Waiting<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A thread that answers one question after the other. If it dies, whatever of, all that it hasn't answered fails with
 * ENCODER. It starts with the first question, if not before.
 */
export class WorkerThread<Question, Answer> {
  readonly #script: URL;
  readonly #signal: AbortSignal;
  readonly #waiting = new Map<number, Waiting<Answer>>();
  #worker: Worker | undefined;
  #asked = 0;
  #ended: { readonly reason: unknown } | undefined;

  /** @param signal what isn't answered by then fails with its reason */
  constructor(script: URL, signal: AbortSignal) {
    this.#script = script;
    this.#signal = signal;
    signal.addEventListener('abort', this.#stop);
  }

  /**
   * Asks a question. Memory is copied, unless threads share it.
   *
   * @returns never unhandled where nobody waits for it any more
   * @throws LedgerlakeError what the thread refuses with, ENCODER where it ended, or the signal's reason
   */
  ask(question: Question): Promise<Answer> {
    const id = this.#asked++;
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    answer.catch(() => undefined);
    if (this.#ended === undefined) this.#running().postMessage({ id, question } satisfies Message<Question>);
    else this.#fail(this.#ended.reason);
    return answer;
  }

  /** Starts the thread, unless it has started: it loads its program while there is nothing to be asked yet. */
  start(): void {
    if (this.#ended === undefined) this.#running();
  }

  #running(): Worker {
    return (this.#worker ??= this.#newWorker());
  }

  /** Questions that it hasn't answered. */
  get waiting(): number {
    return this.#waiting.size;
  }

  async close(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#stop);
    this.#fail(threadEnded('it was closed'));
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #newWorker(): Worker {
    const started = threadStarts();
    const worker = new Worker(this.#script, { resourceLimits });
    worker.on('online', started);
    worker.on('exit', started);
    worker.on('message', (reply: Reply<Answer>) => {
      const asked = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ('answer' in reply) asked?.resolve(reply.answer);
      else asked?.reject(new LedgerlakeError(reply.code, reply.message));
    });
    const fail = (error: unknown): void => {
      this.#fail(threadEnded(messageOf(error)));
    };
    worker.on('messageerror', fail);
    worker.on('error', fail);
    worker.on('exit', (code) => {
      if (worker === this.#worker) fail(`exit code ${code}`);
    });
    return worker;
  }

  #fail(reason: unknown): void {
    this.#ended ??= { reason };
    for (const { reject } of this.#waiting.values()) reject(this.#ended.reason);
    this.#waiting.clear();
  }

  readonly #stop = (): void => {
    this.#fail(this.#signal.reason);
  };
}

function threadEnded(why: string): LedgerlakeError {
  return new LedgerlakeError(
    'ENCODER',
    `expected the thread that writes Parquet to finish, it ended early (${why}); run the same command again`,
  );
}

/**
 * Answers questions on a thread, in their order. What `answer` throws goes to whoever asked.
 *
 * @param answer takes what `WorkerThread.ask` is given
 */
export function answerQuestions(answer: (question: never) => Promise<unknown>): void {
  const port = parentPort;
  let before: Promise<void> = Promise.resolve();
  port?.on('message', ({ id, question }: Message<never>) => {
    before = before.then(async () => {
      try {
        port.postMessage({ id, answer: await answer(question) } satisfies Reply<unknown>);
      } catch (error) {
        const code = error instanceof LedgerlakeError ? error.code : 'ENCODER';
        port.postMessage({ id, message: messageOf(error), code } satisfies Reply<unknown>);
      }
      // As long as questions come, the event loop doesn't turn; only then is the memory of an addon's buffers freed.
      await setImmediate();
    });
  });
}
