import { LedgerlakeError } from '../errors.js';
import { unescapeUtf8, type JsonBytes } from './text.js';

/** The kinds of nodes. `shadowed` is a key that a later one of the same object replaces. */
export const kind = {
  shadowed: 0,
  object: 1,
  array: 2,
  string: 3,
  /** A string with at least one escape. */
  escaped: 4,
  number: 5,
  true: 6,
  false: 7,
  null: 8,
} as const;

/** Integers of a node: kind, first byte, end (one behind its last byte), and the node behind its subtree. */
const stride = 4;

/** Maximum nesting of containers (RFC 8259, section 9, permits a limit). */
export const maxDepth = 512;

/** Maximum number of nodes of a text, which take 64 MB: the densest text has a node for each two bytes. */
export const mostNodes = 4 * 1024 * 1024;

/** A part of a text that can't be read: an element of its outermost array, or several of which the first and the last can't. */
export interface TextHole {
  /** The array's key, or an empty text. */
  readonly list: string;
  /** The bytes of the source that are left out. */
  readonly start: number;
  readonly end: number;
}

/** How a text differs from its source, which is no JSON. */
export interface Repairs {
  /** Where the repaired strings begin, in ascending order. */
  readonly strings: readonly number[];
  readonly holes: readonly TextHole[];
}

/**
 * One JSON text as a flat list of nodes in document order: a container is followed by its content, a key by its value.
 * Node 0 is the text's value. Nothing is copied or decoded: nodes are offsets into the bytes that were scanned.
 * A tape is filled by `scan` and can be filled again for the next text.
 */
export class Tape {
  bytes: Buffer = Buffer.alloc(0);
  /** A view of the same bytes, to read several at once. */
  view = new DataView(this.bytes.buffer);
  /** Nodes in use. */
  length = 0;
  /** How the bytes differ from the source; undefined where they don't. */
  repairs: Repairs | undefined;
  /** Scratch memory of the scanner: the open containers, outermost first. */
  readonly open = new Int32Array(maxDepth);
  #cells = new Int32Array(stride * 1024);
  #scratch = Buffer.alloc(256);

  /** Empties the tape for another text. */
  begin({ bytes, view }: JsonBytes): void {
    this.bytes = bytes;
    this.view = view;
    this.length = 0;
    this.repairs = undefined;
  }

  /** Adds a node whose end and successor are not known yet. Returns its number. */
  push(nodeKind: number, start: number): number {
    const at = this.length * stride;
    if (at === this.#cells.length) {
      if (this.length >= mostNodes) {
        throw new LedgerlakeError('TOO_LARGE', `expected JSON of at most ${mostNodes} values, found more`);
      }
      const larger = new Int32Array(this.#cells.length * 2);
      larger.set(this.#cells);
      this.#cells = larger;
    }
    this.#cells[at] = nodeKind;
    this.#cells[at + 1] = start;
    return this.length++;
  }

  /** Completes a node: its last byte is before `end`, and the nodes pushed since are its subtree. */
  close(node: number, end: number): void {
    this.#cells[node * stride + 2] = end;
    this.#cells[node * stride + 3] = this.length;
  }

  kind(node: number): number {
    return this.#cells[node * stride] ?? 0;
  }

  /** First byte of the node's text; of a string, its quote. */
  start(node: number): number {
    return this.#cells[node * stride + 1] ?? 0;
  }

  /** One behind the last byte of the node's text. */
  end(node: number): number {
    return this.#cells[node * stride + 2] ?? 0;
  }

  /** The node behind this one's subtree. */
  next(node: number): number {
    return this.#cells[node * stride + 3] ?? 0;
  }

  /** Whether a string within the node was repaired. */
  isRepaired(node: number): boolean {
    if (this.repairs === undefined) return false;
    const { strings } = this.repairs;
    let [low, high] = [0, strings.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((strings[middle] ?? 0) < this.start(node)) low = middle + 1;
      else high = middle;
    }
    return (strings[low] ?? Infinity) < this.end(node);
  }

  isString(node: number): boolean {
    const nodeKind = this.kind(node);
    return nodeKind === kind.string || nodeKind === kind.escaped;
  }

  /** The string's decoded UTF-8 bytes; valid until the next call. Lone surrogates become U+FFFD. */
  stringBytes(node: number): Buffer {
    return this.#decoded(node, false);
  }

  /** The same for comparing keys: two are equal exactly where the JavaScript strings are. */
  keyBytes(key: number): Buffer {
    return this.#decoded(key, true);
  }

  #decoded(node: number, keepsLone: boolean): Buffer {
    const start = this.start(node) + 1;
    const end = this.end(node) - 1;
    if (this.kind(node) !== kind.escaped) return this.bytes.subarray(start, end);
    // An escape is never shorter than its character in UTF-8, so the source's length is enough.
    if (this.#scratch.length < end - start) this.#scratch = Buffer.alloc((end - start) * 2);
    return this.#scratch.subarray(0, unescapeUtf8(this.bytes, start, end, this.#scratch, keepsLone));
  }

  /** The string's value. */
  stringValue(node: number): string {
    return this.stringBytes(node).toString('utf8');
  }

  /** The node's text, byte for byte. */
  text(node: number): string {
    return this.bytes.toString('utf8', this.start(node), this.end(node));
  }

  /** The keys of an object that aren't shadowed, in document order; the value of a key is the node behind it. */
  *keys(object: number): Generator<number> {
    const end = this.next(object);
    for (let key = object + 1; key < end; key = this.next(key + 1)) {
      if (this.kind(key) !== kind.shadowed) yield key;
    }
  }

  /** The value of an object's member, the last one where there are several; undefined where there is none. */
  member(object: number, name: string): number | undefined {
    let found: number | undefined;
    if (this.kind(object) !== kind.object) return undefined;
    for (const key of this.keys(object)) if (this.stringValue(key) === name) found = key + 1;
    return found;
  }

  /** Lets the last of equal keys win in every object of a subtree, as JSON.parse does. */
  shadowDuplicates(node: number): void {
    const end = this.next(node);
    for (let at = node; at < end; at++) if (this.kind(at) === kind.object) this.shadowKeys(at);
  }

  /** The same for one object alone. */
  shadowKeys(object: number): void {
    const last = new Map<string, number>();
    for (const key of this.keys(object)) {
      const name = this.keyBytes(key).toString('latin1');
      const earlier = last.get(name);
      if (earlier !== undefined) this.#cells[earlier * stride] = kind.shadowed;
      last.set(name, key);
    }
  }
}
