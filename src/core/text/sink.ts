import type { Writable } from 'node:stream';
import { LedgerlakeError, messageOf, systemCode } from '../errors.js';
import { printableColoured, printableLines } from '../printable.js';

/** The destination of a command's results: process.stdout, or a test's stream. */
export interface Output extends Writable {
  readonly isTTY?: boolean;
  /** Width of the terminal in cells. */
  readonly columns?: number;
}

/** The width of a terminal in cells; undefined where the output is no terminal. */
export function terminalWidth(output: Output): number | undefined {
  return output.isTTY === true && output.columns !== undefined && output.columns > 0 ? output.columns : undefined;
}

/** Wider lines are hard to read. */
const widest = 110;

/** Maximum characters of a line of prose on an output. */
export function proseWidth(output: Output): number {
  return Math.min(widest, terminalWidth(output) ?? widest);
}

/** Codes of writes that fail because the reader closed the output: `| head`, or a closed terminal. */
const closed = new Set(['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/** Whether a write failed because the reader closed the output, which is no error. */
export function isUnread(error: unknown): boolean {
  return closed.has(systemCode(error) ?? '');
}

/** The error for any other failed write. */
export function outputError(cause: unknown): LedgerlakeError {
  const found = messageOf(cause);
  return new LedgerlakeError('OUTPUT', `expected an output that accepts data, got ${found}; write it elsewhere`, {
    cause,
  });
}

/** Writes text for people, or JSON, with escapes for unsafe characters; the values of JSON strings stay the same. */
export async function writeText(
  output: Writable,
  pieces: AsyncIterable<string> | Iterable<string>,
  { isColoured = false }: { readonly isColoured?: boolean } = {},
): Promise<boolean> {
  return writeExact(output, shown(pieces, isColoured ? printableColoured : printableLines));
}

async function* shown(
  pieces: AsyncIterable<string> | Iterable<string>,
  shownText: (text: string) => string,
): AsyncGenerator<string> {
  for await (const piece of pieces) yield shownText(piece);
}

/**
 * Writes the pieces in turn, each once the previous one is written. False where the reader closed the output: then the
 * rest isn't read, and that is no error. Throws OUTPUT for other failed writes (a full disk), and what `pieces` throws.
 */
export async function writeExact(output: Writable, pieces: AsyncIterable<string> | Iterable<string>): Promise<boolean> {
  // A failed write is reported to its callback and as an event; without a listener the event ends the process.
  const ignore = (): void => undefined;
  output.on('error', ignore);
  try {
    for await (const piece of pieces) {
      if (piece !== '') await write(output, piece);
    }
  } catch (error) {
    if (error instanceof WriteFailure) {
      if (isUnread(error.cause)) return false;
      throw outputError(error.cause);
    }
    output.off('error', ignore);
    throw error;
  }
  output.off('error', ignore);
  return true;
}

/** Distinguishes a failed write from a failed source. */
class WriteFailure extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
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
