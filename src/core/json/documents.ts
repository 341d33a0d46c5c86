import { quote, comma, bracket, backslash, bracketEnd, brace, braceEnd, isSpace } from './text.js';

const newline = 0x0a;

/** Bytes that show how a text is printed, at most. */
export const mostPrettyBytes = 4096;

/**
 * Whether the beginning of a text shows that its documents don't have a line each: it begins with an array, or its first line
 * ends with an opening bracket.
 *
 * @param beginning `mostPrettyBytes`, or all bytes of a shorter text
 */
export function isSpreadOut(beginning: Buffer): boolean {
  let start = beginning.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf)) ? 3 : 0;
  while (isSpace(beginning[start])) start++;
  const first = beginning[start];
  if (first !== brace) return first === bracket;
  let end = beginning.indexOf(newline, start);
  if (end < 0 || end > mostPrettyBytes) return false;
  while (isSpace(beginning[end])) end--;
  return beginning[end] === brace || beginning[end] === bracket;
}

/** A JSON document of a longer text. */
interface JsonDocument {
  /** The number of the line on which it begins, from 1. */
  readonly line: number;
  /** Undefined for one that is too long. */
  readonly bytes: Buffer | undefined;
}

/**
 * The objects of a text, one after the other or in arrays, however they are printed. What is no object, and what is not complete
 * at the end, is a document too, for its reader to refuse.
 *
 * @param chunks each is requested once the one before is no longer used
 * @param longest bytes of the longest document that is kept
 */
export async function* documentsOf(chunks: AsyncIterable<Buffer>, longest: number): AsyncGenerator<JsonDocument> {
  const splitter = new Splitter(longest);
  for await (const chunk of chunks) yield* splitter.add(chunk);
  yield* splitter.finish();
}

/** Whether a byte is one of a byte order mark, which is removed. */
function isMark(byte: number): boolean {
  return byte === 0xef || byte === 0xbb || byte === 0xbf;
}

/** Finds the ends of documents, chunk by chunk. */
class Splitter {
  readonly #longest: number;
  #line = 1;
  /** Arrays around the documents. */
  #arrays = 0;
  /** Containers of the current document that are open; 0 also within one that is no object. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isOpen = false;
  #first = 1;
  /** The bytes of the current document from earlier chunks. */
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  *add(chunk: Buffer): Generator<JsonDocument> {
    let start = 0;
    for (const [at, byte] of chunk.entries()) {
      if (byte === newline) this.#line++;
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#isInString = false;
      } else if (this.#depth > 0) {
        if (byte === quote) this.#isInString = true;
        else if (byte === brace || byte === bracket) this.#depth++;
        else if ((byte === braceEnd || byte === bracketEnd) && --this.#depth === 0) {
          yield this.#ended(chunk.subarray(start, at + 1));
        }
      } else {
        if (!this.#isOpen && isMark(byte)) continue;
        const isBetween = isSpace(byte) || byte === comma || byte === bracket || byte === bracketEnd || byte === brace;
        if (this.#isOpen && isBetween) yield this.#ended(chunk.subarray(start, at));
        if (byte === bracket) this.#arrays++;
        else if (byte === bracketEnd) this.#arrays--;
        else if (!this.#isOpen && (byte === brace || !isBetween)) {
          this.#isOpen = true;
          this.#first = this.#line;
          start = at;
          if (byte === brace) this.#depth = 1;
        }
      }
    }
    if (this.#isOpen) this.#keep(chunk.subarray(start));
  }

  /** The rest, which is not complete. */
  *finish(): Generator<JsonDocument> {
    if (this.#isOpen) yield this.#ended(Buffer.alloc(0));
    else if (this.#arrays !== 0) yield { line: this.#line, bytes: Buffer.from('[') };
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > this.#longest) this.#pieces = [];
    else this.#pieces.push(Buffer.from(piece));
  }

  #ended(piece: Buffer): JsonDocument {
    this.#keep(piece);
    const bytes = this.#length > this.#longest ? undefined : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#length = 0;
    this.#isOpen = false;
    return { line: this.#first, bytes };
  }
}
