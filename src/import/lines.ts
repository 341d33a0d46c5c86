const newline = 0x0a;
const mark = Buffer.of(0xef, 0xbb, 0xbf);

/** A line is held in memory; one that never ends is no file of bodies. */
export const longestLine = 256 * 1024 * 1024;

/** A line that isn't blank. */
export interface Line {
  /** From 1, blank lines counted. */
  readonly number: number;
  /** Without its end, and without a byte order mark; undefined for one that is too long to be kept. */
  readonly bytes: Buffer | undefined;
}

/**
 * Bytes as lines. The last one may lack its end, `\r\n` ends one too, and blank ones are passed over. A byte order mark at
 * the beginning of a line is left out: files that have one are strung together with it.
 *
 * @param longest bytes of the longest line that is kept
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>, longest = longestLine): AsyncGenerator<Line> {
  let number = 1;
  let parts: Buffer[] = [];
  let length = 0;
  const take = (part: Buffer): void => {
    length += part.length;
    if (length <= longest) parts.push(part);
    else parts = [];
  };
  const line = (): Line | undefined => {
    const whole = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    const bytes = length > longest ? undefined : withoutMark(whole);
    parts = [];
    length = 0;
    return bytes !== undefined && isBlank(bytes) ? undefined : { number, bytes };
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end));
      const whole = line();
      if (whole !== undefined) yield whole;
      number++;
      start = end + 1;
    }
    if (start < chunk.length) take(chunk.subarray(start));
  }
  const last = line();
  if (last !== undefined) yield last;
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, mark.length).equals(mark) ? bytes.subarray(mark.length) : bytes;
}

/** The white space of JSON, which a line's `\r` is too. */
function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}
