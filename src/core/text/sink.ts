import type { Writable } from 'node:stream';

/** Where a command's results go: process.stdout, or a test's stream. */
export interface Output extends Writable {
  readonly isTTY?: boolean;
  /** Cells of the terminal. */
  readonly columns?: number;
}

/** Cells of the terminal that an output is, or undefined where it is none. */
export function terminalWidth(output: Output): number | undefined {
  return output.isTTY === true && output.columns !== undefined && output.columns > 0 ? output.columns : undefined;
}

/** What a write fails with when nobody reads any more (`| head`). */
const closed = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/**
 * Writes the pieces in turn, each only when the one before it has been taken. False when the reader closed its end:
 * then the rest is not asked for, and that is no error. Throws what else a write fails with (a full disk).
 */
export async function writeText(output: Writable, pieces: AsyncIterable<string> | Iterable<string>): Promise<boolean> {
  // A failed write is reported to its callback and as an event; the event ends the process where nobody listens.
  const ignore = (): void => undefined;
  output.on('error', ignore);
  try {
    for await (const piece of pieces) {
      if (piece !== '') await write(output, piece);
    }
  } catch (error) {
    if (error instanceof WriteFailure) {
      if (closed.has(error.code)) return false;
      throw error.cause;
    }
    output.off('error', ignore);
    throw error;
  }
  output.off('error', ignore);
  return true;
}

/** Tells a write that failed from a source that did. */
class WriteFailure extends Error {
  readonly code: string;

  constructor(cause: Error) {
    super(cause.message, { cause });
    this.code = 'code' in cause ? String(cause.code) : '';
  }
}

function write(output: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(text, (error) => {
      if (error) reject(new WriteFailure(error));
      else resolve();
    });
  });
}
