import { setImmediate } from 'node:timers/promises';
import { LedgerlakeError, messageOf, systemCode } from '../../core/errors.js';
import { documentsOf, isSpreadOut, mostPrettyBytes } from '../../core/json/documents.js';
import { decoded, type Input, InputFault, inflated, peeked } from './input-bytes.js';

/** The BROKEN_LINE failure of a line that is not a body of the service. */
export function brokenLine(file: string, line: number, found: string): LedgerlakeError {
  return new LedgerlakeError('BROKEN_LINE', `${file}, line ${line}: ${found}`);
}

/**
 * The bodies of an input in order: its lines that aren't blank, or the objects of an array or of text printed on several lines.
 *
 * @throws LedgerlakeError BROKEN_LINE where a compressed input is damaged or truncated, so that the rest can't be read; the
 *   signal's reason
 */
export async function* savedLines(input: Input, signal: AbortSignal): AsyncGenerator<Line> {
  let last = 0;
  const chunks = inputChunks(input, () => last + 1, signal);
  const bodies = peeked(chunks, mostPrettyBytes, (head, all) => (isSpreadOut(head) ? spreadLines(all) : linesOf(all)));
  for await (const line of bodies) {
    last = line.number;
    yield line;
  }
}

async function* spreadLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  for await (const { line, bytes } of documentsOf(chunks, longestLine)) yield { number: line, bytes };
}

async function* inputChunks(input: Input, line: () => number, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of decoded(inflated(input.open()))) {
      // Checks the signal here, because blank lines never reach the consumer.
      await setImmediate();
      signal.throwIfAborted();
      yield chunk;
    }
  } catch (error) {
    if (error instanceof InputFault) throw brokenLine(input.name, line(), error.message);
    const code = systemCode(error) ?? '';
    if (!/^Z(STD)?_/.test(code)) throw error;
    const format = code.startsWith('Z_') ? 'gzip' : 'zstd';
    const what = code === 'Z_BUF_ERROR' ? 'is cut off' : `is damaged (${messageOf(error)})`;
    const found = `the ${format} file ${what} here or later; fetch it again, or save what \`${format} -dc\` still decompresses`;
    throw brokenLine(input.name, line(), found);
  }
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);

/** Bytes of the longest line. A line is kept in memory; a longer one is no response body. */
export const longestLine = 32 * 1024 * 1024;

/** Bytes of memory that are kept from one line to the next. */
const keptBytes = 16 * 1024 * 1024;

/** A line that isn't blank. */
export interface Line {
  /** From 1, blank lines counted. */
  readonly number: number;
  /**
   * Without its line end and byte order mark; undefined for a line that is too long. Valid until the next line is requested.
   */
  readonly bytes: Buffer | undefined;
}

/**
 * Bytes as lines. A line ends with `\n`, `\r\n` or the end of the input; blank lines are skipped. A byte order mark at the start
 * of any line is removed, because concatenated files keep theirs.
 *
 * @param chunks each is requested once the one before is no longer used
 * @param longest bytes of the longest line that is kept
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>, longest = longestLine): AsyncGenerator<Line> {
  let number = 1;
  /** Begins with the bytes of the line from earlier chunks, in one buffer: a line may span any number of chunks. */
  let partial = Buffer.alloc(0);
  /** Length of the line so far in bytes; the bytes of a line that is too long aren't kept. */
  let length = 0;
  const append = (piece: Buffer): void => {
    const end = length + piece.length;
    if (end > longest) partial = Buffer.alloc(0);
    else {
      if (end > partial.length) partial = Buffer.concat([partial.subarray(0, length)], Math.min(2 * end, longest));
      partial.set(piece, length);
    }
    length = end;
  };
  const line = (rest: Buffer): Line | undefined => {
    if (length > 0) append(rest);
    const isKept = Math.max(length, rest.length) <= longest;
    const bytes = isKept ? withoutMark(length > 0 ? partial.subarray(0, length) : rest) : undefined;
    length = 0;
    return bytes !== undefined && isBlank(bytes) ? undefined : { number, bytes };
  };
  for await (const chunk of chunks) {
    let start = 0;
    // A file may have as many empty lines as bytes.
    const skipEmpty = (): void => {
      while (length === 0) {
        const isReturned = chunk[start] === carriageReturn;
        if (chunk[isReturned ? start + 1 : start] !== newline) return;
        start += isReturned ? 2 : 1;
        number++;
      }
    };
    skipEmpty();
    for (let end = chunk.indexOf(newline, start); end >= 0; end = chunk.indexOf(newline, start)) {
      const complete = line(chunk.subarray(start, end));
      if (complete !== undefined) yield complete;
      if (partial.length > keptBytes) partial = Buffer.alloc(0);
      number++;
      start = end + 1;
      skipEmpty();
    }
    if (start < chunk.length) append(chunk.subarray(start));
  }
  const last = line(Buffer.alloc(0));
  if (last !== undefined) yield last;
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? bytes.subarray(byteOrderMark.length) : bytes;
}

/** Whether a line has only white space of JSON, which `\r` is too. */
function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== carriageReturn) return false;
  return true;
}
