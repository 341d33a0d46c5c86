import { recoveredElements, type CutText } from './recovered-elements.js';
import { repairStrings } from './repair-strings.js';
import { scan, structureFault, SyntaxFault } from './scan.js';
import type { Tape } from './tape.js';
import { quote, comma, bracket, backslash, bracketEnd, brace, braceEnd, isSpace, valueStart } from './text.js';

/** The keys around the lists of a page, by which reading resumes behind a list that can't be read to its end. */
export interface Envelope {
  /** Finds such a key with its quotes, its colon and the beginning of its value; the first group is the key. Global. */
  readonly keys: RegExp;
  /** How many containers end between an element of a list and a key behind the list. */
  ends(key: string, list: string): number;
}

/** Bytes that are read to repair a text, as a multiple of its length: a list that can't be read takes about three. */
const mostWork = 128;

/**
 * Scans a JSON text, like `scan`, or what can be read of it. Invalid strings are repaired. With an envelope, an element of the
 * text's outermost array that can't be read is a hole, and is left out. Reading resumes at the first comma behind it from which the
 * rest of the array is valid; where there is none, at the end of the array or at the next key of the envelope. Elements between two
 * holes are kept where they have the same keys as one that is certainly an element. `tape.repairs` reports both, and `tape.bytes` is
 * valid JSON. The time grows with the length alone.
 *
 * @throws SyntaxFault where no rest can be read; LedgerlakeError TOO_LARGE
 */
export function scanRepaired(source: Uint8Array, tape: Tape, envelope?: Envelope): void {
  try {
    scan(source, tape);
  } catch (fault) {
    if (!(fault instanceof SyntaxFault)) throw fault;
    const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
    const cut = withoutHoles(bytes, tape, envelope);
    // At the same byte the fault of the scanner is more precise.
    if (cut instanceof SyntaxFault) throw cut.at <= fault.at ? fault : cut;
    const { holes, text } = recoveredElements(bytes, cut, tape);
    const repaired = repairStrings(text);
    scan(repaired.bytes, tape);
    tape.repairs = { strings: repaired.strings, holes };
  }
}

/** Leaves out what breaks the structure of a text; the fault that prevents it. The tape has the nodes of the result. */
function withoutHoles(source: Buffer, tape: Tape, envelope: Envelope | undefined): CutText | SyntaxFault {
  const holes: CutText['holes'][number][] = [];
  let bytes = source;
  let first: SyntaxFault | undefined;
  /** Where the bytes behind the last hole begin, and what their positions lack to those of the source. */
  let joined = 0;
  let shift = 0;
  for (let work = 0; ;) {
    const fault = structureFault(bytes, tape);
    if (fault === undefined) return { bytes, holes };
    first ??= fault;
    const place = elementAt(bytes, fault.at, joined);
    work += 3 * bytes.length;
    if (envelope === undefined || place === undefined || work > mostWork * source.length) return first;
    const { nested } = place;
    if (nested !== undefined && nested >= joined && isStray(bytes, place, tape)) {
      holes.push({ list: place.list, start: nested + shift, end: nested + 1 + shift, cut: nested });
      bytes = without(bytes, nested);
      joined = nested;
      shift += 1;
      continue;
    }
    const resumed = resumption(bytes, place, tape, envelope);
    if (resumed === undefined) return first;
    const { at, ends } = resumed;
    const { list, closers } = place;
    const start = startOf(bytes, place, at);
    const isElement = ends === 0 && bytes[at] === comma;
    const before = isElement ? bytes.subarray(0, start) : withoutComma(bytes.subarray(0, start));
    const ended = Buffer.from(ends === 0 ? separator(before, isElement) : [...closers.slice(-ends).reverse(), comma]);
    const rest = isElement ? at + 1 : at;
    holes.push({ list, start: start + shift, end: at + shift, cut: before.length });
    bytes = Buffer.concat([before, ended, bytes.subarray(rest)]);
    joined = before.length + ended.length;
    shift += rest - joined;
  }
}

/** The element of the outermost array that can't be read. */
interface ElementPlace {
  /** The key of the array. */
  readonly list: string;
  /** What ends the containers around the element, the outermost first, the array last. */
  readonly closers: readonly number[];
  /** Where it begins, and where it can't be read any further. */
  readonly start: number;
  readonly fault: number;
  /** Where the last object in the array before the fault begins, or the array's first element. */
  readonly object: number | undefined;
  /** Where the last array in it begins: elements are objects. */
  readonly nested?: number | undefined;
}

/**
 * Finds the element around a fault up to which the structure is valid; undefined outside of arrays.
 *
 * @param joined what begins before is none of its elements
 */
function elementAt(bytes: Buffer, fault: number, joined: number): ElementPlace | undefined {
  const closers: number[] = [];
  let depth = -1;
  let [list, key] = ['', ''];
  let start = 0;
  let object: number | undefined;
  let nested: number | undefined;
  /** A bracket too many, if the fault is right behind it. */
  let ended: ElementPlace | undefined;
  for (let at = 0; at < fault; at++) {
    switch (bytes[at]) {
      case quote: {
        const end = stringEnd(bytes, at);
        if (depth < 0) key = bytes.toString('utf8', at + 1, end);
        at = end;
        break;
      }
      case bracket:
        if (depth < 0) [list, depth, start, object, nested] = [key, closers.length, at + 1, at + 1, undefined];
        else if (closers.length === depth + 1) nested = at;
        closers.push(bracketEnd);
        break;
      case brace:
        if (closers.length === depth + 1) object = at;
        closers.push(braceEnd);
        break;
      case bracketEnd:
      case braceEnd:
        closers.pop();
        if (closers.length === depth) {
          ended = { list, closers: [...closers, bracketEnd], start: at, fault, object: undefined };
          depth = -1;
        }
        break;
      case comma:
        if (closers.length === depth + 1) start = at + 1;
        break;
      case undefined:
      default:
        break;
    }
  }
  if (depth < 0) return ended && /^\]\s*,?\s*$/.test(bytes.toString('latin1', ended.start, fault)) ? ended : undefined;
  start = Math.min(valueStart(bytes, start), fault);
  if (object !== undefined && object < joined) object = undefined;
  if (object !== undefined) object = valueStart(bytes, object);
  return { list, closers: closers.slice(0, depth + 1), start, fault, object, nested };
}

/** Whether the array in an element's place is a bracket too many, without which the text can be read further. */
function isStray(bytes: Buffer, { nested = 0, fault }: ElementPlace, tape: Tape): boolean {
  if (bytes[valueStart(bytes, nested + 1)] !== brace) return false;
  const next = structureFault(without(bytes, nested), tape);
  return next === undefined || next.at >= fault;
}

function without(bytes: Buffer, at: number): Buffer {
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
}

/**
 * Where a hole begins. An element that is no object is probably the rest of the object before it, which a brace too many or a
 * quote within a string has ended. Of one that doesn't begin as a value that is certain only where its quotes are not in pairs.
 */
function startOf(bytes: Buffer, { start, fault, object = start }: ElementPlace, end: number): number {
  if (start < fault) return object;
  let quotes = 0;
  for (let at = bytes.indexOf(quote, start); at >= 0 && at < end; at = bytes.indexOf(quote, at + 1)) {
    if (!isEscaped(bytes, at)) quotes++;
  }
  return quotes % 2 === 0 ? start : object;
}

/** Where reading resumes: at a comma or the end of the array, or at a key behind. */
interface Resumption {
  readonly at: number;
  /** How many containers end before the key; 0 without one. */
  readonly ends: number;
}

/** Where reading resumes behind an element; a key of the envelope ends the part in which that is searched. */
function resumption(bytes: Buffer, place: ElementPlace, tape: Tape, envelope: Envelope): Resumption | undefined {
  const { list, closers, start } = place;
  envelope.keys.lastIndex = 0;
  const key = envelope.keys.exec(bytes.toString('latin1', start));
  if (key === null) {
    const at = firstValid(bytes, place, tape);
    return at === undefined ? undefined : { at, ends: 0 };
  }
  const ends = envelope.ends(key[1] ?? '', list);
  if (ends >= closers.length) return undefined;
  const outer = Buffer.from(closers.slice(0, -ends).reverse());
  const at = firstValid(Buffer.concat([withoutComma(bytes.subarray(0, start + key.index)), outer]), place, tape);
  return at === undefined ? { at: start + key.index, ends } : { at, ends: 0 };
}

/**
 * The first comma or end of the array behind a fault from which the rest of a text is valid to its end; without one the last
 * before. Behind it the rest of each further one is valid too, so the first is found by a search that doubles its steps.
 */
function firstValid(bytes: Buffer, { closers, start, fault }: ElementPlace, tape: Tape): number | undefined {
  const candidates = candidatesFrom(bytes, closers, start);
  const opening = Buffer.from(closers.map((closer) => (closer === braceEnd ? '{"":' : '[')).join(''));
  const isValid = (index: number): boolean => {
    const at = candidates[index];
    if (at === undefined) return false;
    const rest = bytes.subarray(bytes[at] === comma ? at + 1 : at);
    return structureFault(Buffer.concat([opening, rest]), tape) === undefined;
  };
  // The candidates are in descending order: the last one is the first in the text.
  const isBefore = candidates.findIndex((at) => at < fault);
  let invalid = isBefore < 0 ? candidates.length : Math.max(1, isBefore);
  let valid = -1;
  for (let step = 1; valid < 0 && invalid > 0; step *= 2) {
    const tried = Math.max(0, invalid - step);
    if (isValid(tried)) valid = tried;
    else invalid = tried;
  }
  while (valid >= 0 && invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    if (isValid(middle)) valid = middle;
    else invalid = middle;
  }
  return candidates[valid];
}

/**
 * Commas and ends of an array behind which the same containers end as around its elements, from the last byte back to a first
 * one. Outside of strings no quote is escaped, so a text can be read backwards.
 */
function candidatesFrom(bytes: Buffer, closers: readonly number[], first: number): number[] {
  const candidates: number[] = [];
  const stack: number[] = [];
  /** Containers that end behind the byte as they should. */
  let matched = 0;
  for (let at = bytes.length - 1; at >= first; at--) {
    const byte = bytes[at];
    switch (byte) {
      case quote:
        do at = bytes.lastIndexOf(quote, at - 1);
        while (at > first && isEscaped(bytes, at));
        if (at < first) return candidates;
        break;
      case braceEnd:
      case bracketEnd:
        if (matched === stack.length && closers[matched] === byte) matched++;
        stack.push(byte);
        if (matched === stack.length && matched === closers.length) candidates.push(at);
        break;
      case brace:
      case bracket:
        if (stack.pop() !== byte + 2) return candidates;
        matched = Math.min(matched, stack.length);
        break;
      case comma:
        // Elements are objects: a comma behind something else is within one.
        if (matched === stack.length && matched === closers.length && isBehindObject(bytes, at)) candidates.push(at);
        break;
      case undefined:
      default:
        break;
    }
  }
  return candidates;
}

/** The quote that ends a string; the end of the bytes where none does. */
function stringEnd(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === quote) return at;
    if (bytes[at] === backslash) at++;
  }
  return bytes.length;
}

/** Whether a quote is part of an escape: an odd number of backslashes is before it. */
function isEscaped(bytes: Buffer, at: number): boolean {
  let before = at - 1;
  while (bytes[before] === backslash) before--;
  return (at - before) % 2 === 0;
}

function isBehindObject(bytes: Buffer, at: number): boolean {
  return bytes[trimmedEnd(bytes, at) - 1] === braceEnd;
}

/** The comma between elements, if it is missing. */
function separator(before: Buffer, isElement: boolean): number[] {
  const last = before[trimmedEnd(before) - 1];
  return isElement && last !== comma && last !== bracket ? [comma] : [];
}

/** Bytes without a comma at their end. */
function withoutComma(bytes: Buffer): Buffer {
  const end = trimmedEnd(bytes);
  return bytes[end - 1] === comma ? bytes.subarray(0, end - 1) : bytes;
}

/** The end of bytes without white space at their end. */
function trimmedEnd(bytes: Buffer, from = bytes.length): number {
  let end = from;
  while (isSpace(bytes[end - 1])) end--;
  return end;
}
