import { valueEnd } from './scan.js';
import { kind, Tape, type TextHole } from './tape.js';
import { comma, bracket, bracketEnd, brace, valueStart } from './text.js';

/** Bytes that are read to find the elements of a hole, as a multiple of its length, and the cost of a failure in bytes. */
const mostWork = 16;
const failureWork = 500;

/** A text whose structure is valid, without its holes. */
export interface CutText {
  readonly bytes: Buffer;
  /** In their order, each with the byte of `bytes` before which its elements were. */
  readonly holes: readonly (TextHole & { readonly cut: number })[];
}

/**
 * Puts elements of holes back: objects between commas that have the same keys as another element of the array. An object within
 * an element has other keys.
 *
 * @param tape has the nodes of the text without the holes
 */
export function recoveredElements(
  source: Buffer,
  { bytes, holes }: CutText,
  tape: Tape,
): { readonly text: Buffer; readonly holes: readonly TextHole[] } {
  const pieces: Buffer[] = [];
  const left: TextHole[] = [];
  let copied = 0;
  for (const { list, start, end, cut } of holes) {
    const region = source.subarray(start, end);
    const found = elementsIn(region, keysOfElements(tape, cut));
    let from = 0;
    for (const { before, end: behind } of found) {
      if (from < before) left.push({ list, start: start + from, end: start + before });
      from = valueStart(region, behind) + 1;
    }
    const isRest = found.length === 0 || !/^[\s\]},]*$/.test(region.toString('latin1', from));
    if (isRest) left.push({ list, start: start + from, end });
    pieces.push(bytes.subarray(copied, cut), ...insertedElements(found, region, bytes, cut));
    copied = cut;
  }
  return { text: Buffer.concat([...pieces, bytes.subarray(copied)]), holes: left };
}

interface Found {
  /** The comma before it. */
  readonly before: number;
  readonly start: number;
  readonly end: number;
}

/** Elements with the commas around them, where they are inserted before a byte. */
function insertedElements(found: readonly Found[], region: Buffer, bytes: Buffer, at: number): Buffer[] {
  const pieces = found.flatMap(({ start, end }) => [Buffer.of(comma), region.subarray(start, end)]);
  if (pieces.length === 0) return [];
  let before = at - 1;
  while ((bytes[before] ?? comma) <= 0x20) before--;
  const isAfterElement = bytes[before] !== bracket && bytes[before] !== comma;
  const isBeforeElement = bytes[valueStart(bytes, at)] !== bracketEnd;
  return [...pieces.slice(isAfterElement ? 0 : 1), ...(isBeforeElement ? [Buffer.of(comma)] : [])];
}

/** The keys of each object in the outermost array around a byte. */
function keysOfElements(tape: Tape, byte: number): ReadonlySet<string> {
  const found = new Set<string>();
  for (let node = 0; node < tape.length;) {
    const isAround = tape.start(node) < byte && byte <= tape.end(node);
    if (isAround && tape.kind(node) === kind.array) {
      const end = tape.next(node);
      for (let at = node + 1; at < end; at = tape.next(at)) {
        if (tape.kind(at) === kind.object) found.add(keyNames(tape, at));
      }
      return found;
    }
    const isPassed = tape.end(node) < byte;
    node = isPassed ? tape.next(node) : node + 1;
  }
  return found;
}

function keyNames(tape: Tape, object: number): string {
  return [...tape.keys(object)].map((key) => tape.text(key)).join();
}

/** The elements within the bytes of a hole that have one of these sequences of keys. */
function elementsIn(region: Buffer, known: ReadonlySet<string>): readonly Found[] {
  const found: Found[] = [];
  if (known.size === 0) return found;
  const tape = new Tape();
  const mostBytes = mostWork * (region.length + failureWork);
  let work = 0;
  // The first one has no comma before it.
  let before = -1;
  do {
    const start = valueStart(region, before + 1);
    const end = region[start] === brace ? valueEnd(region, start, tape) : start;
    work += end < 0 ? failureWork - end - start : end - start;
    if (end > start && isComplete(region, end) && known.has(keyNames(tape, 0))) {
      found.push({ before, start, end });
      before = valueStart(region, end);
    } else before = region.indexOf(comma, before + 1);
  } while (before >= 0 && work <= mostBytes);
  return found;
}

/** Whether a comma follows, or the end of the hole, before which its array may end. */
function isComplete(region: Buffer, end: number): boolean {
  const next = valueStart(region, end);
  return (
    next === region.length ||
    region[next] === comma ||
    /^\]\s*\}*\s*,\s*$/.test(region.toString('latin1', next, next + 100))
  );
}
