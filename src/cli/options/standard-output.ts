import type { Writable } from 'node:stream';
import { isUnread, outputError } from '../../core/text/sink.js';
import type { LedgerlakeError } from '../../core/errors.js';

/** Standard output, watched while a command runs. */
export interface StandardOutput {
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
