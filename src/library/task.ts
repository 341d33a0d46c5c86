import { failureOf } from '../app/command-result.js';
import type { RunContext } from '../app/context.js';
import { systemClock } from '../core/clock.js';
import { LedgerlakeError } from '../core/errors.js';
import type { RunEvent } from '../core/events/run-event.js';

/** The context of a task that signals can stop: its own aborts with the reason of the stop, and its listener never throws. */
interface StoppableTask extends RunContext {
  /** Throws the error of the listener, if it has thrown or rejected. */
  check(): void;
  /** Removes the listeners of the caller's signals. */
  end(): void;
}

interface TaskOptions {
  /** The caller's signal. It stops the task with STOPPED, whose cause is the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The signal of the enclosing task. It stops this one for the same reason. */
  readonly outer?: AbortSignal;
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** Options of the command line that have other names for the caller, as in `namingOptions`. */
  readonly names?: ReadonlyMap<string, string>;
  /** The end of the message of STOPPED. */
  readonly advice?: string;
}

/** Starts a task. Its signals stop it, and any error of its listener. */
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
    clock: systemClock,
    signal: stopping.signal,
    emit: (event) => {
      if (thrown.length > 0) return;
      try {
        // The rejection of an async listener must not end the process.
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
 * Runs something that the command line runs, too. Messages about options name them as programs do: `lookBack` for
 * `--look-back`, or what `names` has for it. Commands that they suggest stay.
 */
export async function namingOptions<T>(
  run: () => Promise<T>,
  names: ReadonlyMap<string, string> = programNames,
): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    const error = failureOf(thrown);
    if (!(error instanceof LedgerlakeError) || error.name !== 'LedgerlakeError') throw error;
    const { code } = error;
    if (code !== 'USAGE' && code !== 'LAKE_HISTORY') throw error;
    const named = error.message.replaceAll(
      /(`[^`]*`)|(?<![\w/-])--([a-z][a-z-]*)(?: FILE| DIR)?/g,
      (_, command: string | undefined, option: string) => command ?? `\`${names.get(option) ?? camelCase(option)}\``,
    );
    throw named === error.message ? error : new LedgerlakeError(code, named, { cause: error });
  }
}

/** Options that have other names for programs. */
const programNames: ReadonlyMap<string, string> = new Map([['pipelines', 'pipelineFolder']]);

function camelCase(option: string): string {
  return option.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Runs a task to its end. Throws the error of the listener, else that of `use`, as `namingOptions` does. */
export async function runTask<T>(options: TaskOptions, use: (context: RunContext) => Promise<T>): Promise<T> {
  const task = startTask(options);
  try {
    task.signal.throwIfAborted();
    const result = await namingOptions(() => use(task), options.names);
    task.check();
    return result;
  } catch (error) {
    task.check();
    throw error;
  } finally {
    task.end();
  }
}
