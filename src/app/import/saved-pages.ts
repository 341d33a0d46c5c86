import { setImmediate } from 'node:timers/promises';
import { LedgerlakeError, messageOf, systemCode } from '../../core/errors.js';
import { type Input, inflated } from './input-bytes.js';

/** BROKEN_LINE: a line that is no body of the service, by file and number. */
export function brokenLine(file: string, line: number, found: string): LedgerlakeError {
  return new LedgerlakeError('BROKEN_LINE', `${file}, line ${line}: ${found}`);
}

/**
 * The lines of an input that aren't blank, in order.
 *
 * @throws LedgerlakeError BROKEN_LINE where gzip is damaged or cut off, as nothing behind it can be read; the signal's reason
 */
export async function* savedLines(input: Input, signal: AbortSignal): AsyncGenerator<Line> {
  let last = 0;
  for await (const line of linesOf(readable(input, () => last + 1, signal))) {
    last = line.number;
    yield line;
  }
}

async function* readable(input: Input, line: () => number, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of inflated(input.open())) {
      // Blank lines give no page at which anybody would look for it.
      await setImmediate();
      signal.throwIfAborted();
      yield chunk;
    }
  } catch (error) {
    const code = systemCode(error) ?? '';
    if (!code.startsWith('Z_')) throw error;
    const what = code === 'Z_BUF_ERROR' ? 'is cut off' : `is damaged (${messageOf(error)})`;
    const found = `the gzip file ${what} here or later; fetch it again, or save what \`gzip -dc\` still decompresses`;
    throw brokenLine(input.name, line(), found);
  }
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const mark = Buffer.of(0xef, 0xbb, 0xbf);

/** A line is held in memory; one that never ends is no file of bodies. */
export const longestLine = 32 * 1024 * 1024;

/** Memory for a line that was begun is kept for the next one, where it isn't more than this. */
const keptBytes = 16 * 1024 * 1024;

/** A line that isn't blank. */
export interface Line {
  /** From 1, blank lines counted. */
  readonly number: number;
  /**
   * Without its end, and without a byte order mark; undefined for one that is too long to be kept. Valid until the next line is
   * asked for.
   */
  readonly bytes: Buffer | undefined;
}

/**
 * Bytes as lines. The last one may lack its end, `\r\n` ends one too, and blank ones are passed over. A byte order mark at
 * the beginning of a line is left out: files that have one are strung together with it.
 *
 * @param chunks each is asked for when the one before is used no longer
 * @param longest bytes of the longest line that is kept
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>, longest = longestLine): AsyncGenerator<Line> {
  let number = 1;
  /** Begins with what earlier chunks have of a line: one piece of memory, as a line may come in as many pieces as it has bytes. */
  let partial = Buffer.alloc(0);
  /** Bytes of the line so far: of one that is too long none are kept. */
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
    // Empty lines can be as many as a file has bytes.
    const passEmpty = (): void => {
      while (length === 0) {
        const isReturned = chunk[start] === carriageReturn;
        if (chunk[isReturned ? start + 1 : start] !== newline) return;
        start += isReturned ? 2 : 1;
        number++;
      }
    };
    passEmpty();
    for (let end = chunk.indexOf(newline, start); end >= 0; end = chunk.indexOf(newline, start)) {
      const complete = line(chunk.subarray(start, end));
      if (complete !== undefined) yield complete;
      if (partial.length > keptBytes) partial = Buffer.alloc(0);
      number++;
      start = end + 1;
      passEmpty();
    }
    if (start < chunk.length) append(chunk.subarray(start));
  }
  const last = line(Buffer.alloc(0));
  if (last !== undefined) yield last;
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, mark.length).equals(mark) ? bytes.subarray(mark.length) : bytes;
}

/** The white space of JSON, which a line's `\r` is too. */
function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== carriageReturn) return false;
  return true;
}

/** What was received, in order: the number of each thing's page, and its own date where it has one, in microseconds. */
interface Received {
  readonly length: number;
  page(row: number): number;
  date(row: number): bigint | undefined;
}

interface EffectiveDates {
  /** Microseconds since 1970, by row; undefined only where nothing has a date. */
  readonly instants: readonly (bigint | undefined)[];
  /** The earliest date of the first page that has one. */
  readonly first: bigint | undefined;
  /** The latest date of the last page that has one. */
  readonly last: bigint | undefined;
  /** Whether the first page has no date, or nothing was received. */
  readonly dependsOnBefore: boolean;
}

/**
 * The instants of things that were received page by page: their own date. What has none gets the earliest date of its page,
 * else the latest of the nearest page before it that has one, else the earliest of the nearest page behind it.
 * `effectiveInstants` does the same for a slice, whose pages are in order: there the latest date of all pages before is that of
 * the nearest one.
 *
 * @param before the latest date of the nearest page before the first, where there is one
 */
export function datesByPage(received: Received, before: bigint | undefined): EffectiveDates {
  const { length } = received;
  const earliest = new Map<number, bigint>();
  const latest = new Map<number, bigint>();
  for (let row = 0; row < length; row++) {
    const date = received.date(row);
    if (date !== undefined) widen(earliest, latest, received.page(row), date);
  }
  const instants: (bigint | undefined)[] = [];
  const first = earliest.values().next().value;
  let nearest = before ?? first;
  let last = before;
  for (let row = 0; row < length; row++) {
    const page = received.page(row);
    if (row === 0 || page !== received.page(row - 1)) {
      if (row > 0) nearest = last ?? nearest;
      last = latest.get(page) ?? last;
    }
    instants.push(received.date(row) ?? earliest.get(page) ?? nearest);
  }
  return { instants, first, last, dependsOnBefore: length === 0 || !earliest.has(received.page(0)) };
}

function widen(earliest: Map<number, bigint>, latest: Map<number, bigint>, page: number, date: bigint): void {
  const low = earliest.get(page);
  const high = latest.get(page);
  if (low === undefined || date < low) earliest.set(page, date);
  if (high === undefined || date > high) latest.set(page, date);
}
