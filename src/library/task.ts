import { LedgerlakeError } from '../core/errors.js';
import type { Emit, RunEvent } from '../core/events/run-event.js';

/** Something at work that can be stopped. */
export interface StoppableTask {
  /** Aborts with why it is stopped. */
  readonly signal: AbortSignal;
  /** Hands events to the listener; never throws. */
  readonly emit: Emit;
  /** Throws what the listener has thrown, or rejected with, if it has. */
  check(): void;
  /** Leaves the caller's signals as they were. */
  end(): void;
}

interface TaskOptions {
  /** The caller's: it stops the work with STOPPED, whose cause is the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** That of the work which this is a part of: it stops this for the same reason. */
  readonly outer?: AbortSignal;
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** What STOPPED says beside why. */
  readonly advice?: string;
}

/** Begins something that is stopped by signals, and by what its listener throws. */
export function startTask({ signal: given, outer, onEvent, advice = '' }: TaskOptions): StoppableTask {
  const stopping = new AbortController();
  const thrown: Error[] = [];
  const stop = (): void => {
    const cause: unknown = given?.reason;
    const message = `stopped by its AbortSignal${advice}`;
    stopping.abort(outer?.aborted === true ? outer.reason : new LedgerlakeError('STOPPED', message, { cause }));
  };
  const fail = (error: unknown): void => {
    const failure = error instanceof Error ? error : new Error(String(error));
    thrown.push(failure);
    stopping.abort(failure);
  };
  for (const signal of [outer, given]) {
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
  }
  return {
    signal: stopping.signal,
    emit: (event) => {
      if (thrown.length > 0) return;
      try {
        // An async function is a listener, too: what it rejects with must not end the process.
        const result: unknown = onEvent?.(event);
        if (result instanceof Promise) result.catch(fail);
      } catch (error) {
        fail(error);
      }
    },
    check: () => {
      if (thrown[0] !== undefined) throw thrown[0];
    },
    end: () => {
      for (const signal of [outer, given]) signal?.removeEventListener('abort', stop);
    },
  };
}

/**
 * Works until it is done or stopped.
 *
 * @throws what the listener throws; what `use` throws
 */
export async function runTask<T>(options: TaskOptions, use: (task: StoppableTask) => Promise<T>): Promise<T> {
  const task = startTask(options);
  try {
    task.signal.throwIfAborted();
    const result = await use(task);
    task.check();
    return result;
  } catch (error) {
    task.check();
    throw error;
  } finally {
    task.end();
  }
}
