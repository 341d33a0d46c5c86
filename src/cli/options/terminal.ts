import { createInterface } from 'node:readline';
import { isatty } from 'node:tty';
import { printable } from '../../core/printable.js';
import type { Writable } from 'node:stream';
import { isUnread, outputError } from '../../core/text/sink.js';
import type { LedgerlakeError } from '../../core/errors.js';

/**
 * Asks on the terminal. Questions go to standard error, as results go to standard output. An answer is undefined once the
 * input has ended; `ask` throws the signal's reason once the signal aborts.
 */
export function askOnTerminal(signal: AbortSignal): {
  readonly ask: (question: string) => Promise<string | undefined>;
  readonly close: () => void;
} {
  // Not as a terminal: Ctrl-C then reaches the process as a signal.
  const lines = createInterface({ input: process.stdin, terminal: false });
  const answers = lines[Symbol.asyncIterator]();
  const stop = (): void => {
    lines.close();
  };
  signal.addEventListener('abort', stop, { once: true });
  return {
    ask: async (question) => {
      process.stderr.write(printable(question));
      const answer = await answers.next();
      signal.throwIfAborted();
      return answer.done === true ? undefined : answer.value;
    },
    close: () => {
      signal.removeEventListener('abort', stop);
      lines.close();
    },
  };
}

/** Asks for a yes or no on the terminal; undefined where standard input is no terminal. */
export function confirmOnTerminal(signal: AbortSignal): ((question: string) => Promise<boolean>) | undefined {
  // Every command has this function: to look at `process.stdin` would open it.
  if (!isatty(0)) return undefined;
  return async (question) => {
    // Open for the answer alone, as the system stops a background job that reads the terminal.
    const terminal = askOnTerminal(signal);
    try {
      return /^y(es)?$/i.test((await terminal.ask(`${question} [y/N] `))?.trim() ?? '');
    } finally {
      terminal.close();
    }
  };
}

/** Standard output, watched while a command runs. */
interface StandardOutput {
  /** Resolves once all is written, to the error of the output or undefined. */
  end(): Promise<LedgerlakeError | undefined>;
}

/**
 * Keeps a command running when its output fails: its last output, after the commit, must not end it with a stack trace. A
 * reader such as `head` that closes the pipe is no error.
 */
export function watchOutput(output: Writable): StandardOutput {
  let failure: LedgerlakeError | undefined;
  output.on('error', (error) => {
    if (!isUnread(error)) failure ??= outputError(error);
  });
  return {
    end: async () => {
      // Failed writes emit their errors before this callback.
      await new Promise<void>((resolve) => {
        output.write('', () => {
          setImmediate(resolve);
        });
      });
      return failure;
    },
  };
}
