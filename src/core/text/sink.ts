import type { Writable } from 'node:stream';
import { LedgerlakeError, messageOf, systemCode } from '../errors.js';
import { printableColoured, printableLines } from '../printable.js';

/** Where a command's results go: process.stdout, or a test's stream. */
export interface Output extends Writable {
  readonly isTTY?: boolean;
  /** Cells of the terminal. */
  readonly columns?: number;
}

/** The width in cells of the terminal that an output is, or undefined where it is none. */
export function terminalWidth(output: Output): number | undefined {
  return output.isTTY === true && output.columns !== undefined && output.columns > 0 ? output.columns : undefined;
}

/** Wider lines are hard to read. */
const widest = 110;

/** The characters that a line of prose has there at the most. */
export function proseWidth(output: Output): number {
  return Math.min(widest, terminalWidth(output) ?? widest);
}

/** What a write fails with when nobody reads any more: `| head`, or a terminal that was closed. */
const closed = new Set(['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/** Whether a write failed because nobody reads any more, which is no error of the writer's. */
export function isUnread(error: unknown): boolean {
  return closed.has(systemCode(error) ?? '');
}

/** What a write fails with else. */
export function outputError(cause: unknown): LedgerlakeError {
  const found = messageOf(cause);
  return new LedgerlakeError('OUTPUT', `expected an output that accepts data, got ${found}; write it elsewhere`, {
    cause,
  });
}

/** Writes text for people, or JSON, whose strings stay what they are: what a terminal must not get shows as an escape. */
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
 * Writes the pieces in turn, each only when the one before it has been taken. False when the reader closed its end:
 * then the rest is not asked for, and that is no error. Throws what else a write fails with (a full disk).
 */
export async function writeExact(output: Writable, pieces: AsyncIterable<string> | Iterable<string>): Promise<boolean> {
  // A failed write is reported to its callback and as an event; the event ends the process where nobody listens.
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

/** Tells a write that failed from a source that did. */
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
