import { LedgerlakeError } from '../../core/errors.js';
import type { WholeAnswer } from './whole-answer.js';

const megabyte = 1024 * 1024;

/** Bytes of the largest page: the service's own are below 10 MB. */
export const pageBytes = 64 * megabyte;

/** Bytes that are read of an answer that refuses: what it says stands at its beginning. */
export const errorBytes = megabyte;

const firstBytes = 64 * 1024;

export interface BodyOptions {
  readonly mostBytes: number;
  /** Whether a longer body is cut there; else it is an error. */
  readonly isCut: boolean;
  /** For messages. */
  readonly host: string;
  readonly whole: WholeAnswer;
}

/**
 * Reads a body into memory. What is longer than is taken is never held: the connection is closed instead.
 *
 * @throws LedgerlakeError TOO_LARGE, and what the body or `whole` throws
 */
export async function bytesOf(
  body: AsyncIterable<Buffer>,
  { mostBytes, isCut, host, whole }: BodyOptions,
): Promise<Uint8Array> {
  // One piece of memory, as a body may come in as many pieces as it has bytes.
  let bytes = new Uint8Array(Math.min(firstBytes, mostBytes));
  let length = 0;
  for await (const chunk of body) {
    const part = isCut ? chunk.subarray(0, mostBytes - length) : chunk;
    const end = length + part.length;
    if (end > mostBytes) throw tooLarge(host, mostBytes);
    if (end > bytes.length) {
      const larger = new Uint8Array(Math.min(mostBytes, Math.max(end, bytes.length * 2)));
      larger.set(bytes.subarray(0, length));
      bytes = larger;
    }
    bytes.set(part, length);
    length = end;
    whole.check(length);
    if (part.length < chunk.length) break;
  }
  return bytes.slice(0, length);
}

function tooLarge(host: string, mostBytes: number): LedgerlakeError {
  return new LedgerlakeError(
    'TOO_LARGE',
    `Expected an answer of at most ${mostBytes / megabyte} MB from ${host}, got a larger one: smaller pages or shorter ranges are needed.`,
  );
}
