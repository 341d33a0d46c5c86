import { createInterface } from 'node:readline';
import { printable } from '../../core/printable.js';

/**
 * Asks on the terminal. Questions stand on standard error, as results go to standard output. An answer is undefined
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
