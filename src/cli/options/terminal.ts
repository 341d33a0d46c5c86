import { createInterface } from 'node:readline';
import { printable } from '../../core/printable.js';
import type { Writable } from 'node:stream';
import { isUnread, outputError } from '../../core/text/sink.js';
import type { LedgerlakeError } from '../../core/errors.js';

/**
 * Asks on the terminal. Questions go to standard error, as results go to standard output. An answer is undefined
 * once the input has ended; asking throws the signal's reason once that aborts.
 */
export function askOnTerminal(signal: AbortSignal): {
  readonly ask: (question: string) => Promise<string | undefined>;
  readonly close: () => void;
} {
  // Not as a terminal: it stays the system's, with whose Ctrl-C the signal comes.
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

/** Asks for a yes or no on the terminal; undefined where standard input is none. */
export function confirmOnTerminal(signal: AbortSignal): ((question: string) => Promise<boolean>) | undefined {
  if (!process.stdin.isTTY) return undefined;
  return async (question) => {
    // Open for the answer alone: a job in the background that reads the terminal is stopped.
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
  /** Once all is written: why it could not be, or undefined. */
  end(): Promise<LedgerlakeError | undefined>;
}

/**
 * Lets a command go on to its end whatever becomes of its output: a reader such as `head` that has seen enough is no error
 * of ours, and what it prints last, when its rows are committed, must not end it with a stack trace.
 */
export function watchOutput(output: Writable): StandardOutput {
  let failure: LedgerlakeError | undefined;
  output.on('error', (error) => {
    if (!isUnread(error)) failure ??= outputError(error);
  });
  return {
    end: async () => {
      // The events of what failed come before this is done.
      await new Promise<void>((resolve) => {
        output.write('', () => {
          setImmediate(resolve);
        });
      });
      return failure;
    },
  };
}
