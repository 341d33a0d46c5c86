import { setImmediate } from 'node:timers/promises';
import { parentPort, Worker } from 'node:worker_threads';
import { LedgerlakeError, messageOf, type ErrorCode } from './errors.js';
import { readMachine, threadsOf } from './machine.js';
import { announceThreadStart } from './v8-flags.js';

/** The rows that a thread processes are outside of the heap: a thread that needs more heap has a bug, and ends without the process. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 6 };

/** From which input size on threads are used, and how many. */
export interface ThreadLimits {
  /** Minimum bytes of input for the use of threads; Infinity: never. */
  readonly from: number;
  /** Number of concurrent threads; left out: two. */
  readonly threads?: number | undefined;
  /** The script of each thread, where it isn't the default. */
  readonly script?: URL | undefined;
}

/** Limits for `threads` threads; with one, the caller's thread does everything. */
export function threadLimitsOf(threads: number): ThreadLimits {
  // For smaller inputs a thread saves no time and costs half a CPU second: docs/performance.md.
  return { from: threads > 1 ? 48_000_000 : Infinity, threads };
}

/** Limits for as many threads as the machine, or its container, has room for. */
export const threadLimits = threadLimitsOf(threadsOf(readMachine()));

/** A question to a thread. */
interface Message<Question> {
  readonly id: number;
  readonly question: Question;
}

/** The answer of a thread. */
type Reply<Answer> = { readonly id: number } & (
  { readonly answer: Answer } | { readonly message: string; readonly code: ErrorCode }
);

/**
 * A thread that answers questions in turn. If it ends, all open questions fail with ENCODER. It starts with the first
 * question at the latest.
 */
export class WorkerThread<Question, Answer> {
  readonly #script: URL;
  readonly #signal: AbortSignal;
  readonly #waiting = new Map<
    number,
    { readonly resolve: (answer: Answer) => void; readonly reject: (error: unknown) => void }
  >();
  #worker: Worker | undefined;
  #asked = 0;
  #ended: { readonly reason: unknown } | undefined;

  /** @param signal when it aborts, open questions fail with its reason */
  constructor(script: URL, signal: AbortSignal) {
    this.#script = script;
    this.#signal = signal;
    signal.addEventListener('abort', this.#stop);
  }

  /**
   * Asks a question. Memory is copied, unless it is shared.
   *
   * @returns a promise whose rejection never counts as unhandled
   * @throws LedgerlakeError the thread's error, ENCODER where it ended, or the signal's reason
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

  /** Starts the thread, so that it loads its program before the first question. */
  start(): void {
    if (this.#ended === undefined) this.#running();
  }

  #running(): Worker {
    return (this.#worker ??= this.#newWorker());
  }

  /** Number of open questions. */
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
    const started = announceThreadStart();
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
 * Answers questions on a thread, in order. Errors of `answer` are sent to the caller of `ask`.
 *
 * @param answer receives the argument of `WorkerThread.ask`
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
      // The memory of an addon's buffers is freed only when the event loop turns, which it doesn't while questions
      // arrive.
      await setImmediate();
    });
  });
}
