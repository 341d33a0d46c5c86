import { kind, type Tape } from './tape.js';

/** Bytes after a key in a JSON text, at least: its quote, a colon and a value. */
const padding = 3;

/** Maximum number of children that are compared one by one; with more, a map is used. */
const mostCompared = 64;

/** A node of a tree of object keys, whose children are found by the bytes of their keys. The tree grows with each new key. */
export abstract class KeyNode<Child extends KeyNode<Child>> {
  /** The key's bytes, four in each integer, the last one padded with zeros. */
  readonly #words: Int32Array;
  /** Mask of the key's bits in the last word. */
  readonly #lastMask: number;
  readonly #length: number;
  /** The key with quotes and colon in the same form; empty where the key needs an escape. */
  readonly #writtenWords: Int32Array;
  readonly #writtenMask: number;
  /** Bytes of the key with its quotes and its colon. */
  readonly writtenLength: number;
  readonly #children: Child[] = [];
  #next = 0;
  #byKey: Map<string, Child> | undefined;

  constructor(key: Uint8Array) {
    this.#length = key.length;
    this.#words = wordsOf(key);
    this.#lastMask = maskOf(key.length);
    const isPlain = key.every((byte) => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c);
    const written = isPlain ? Buffer.concat([Buffer.from('"'), key, Buffer.from('":')]) : Buffer.alloc(0);
    this.writtenLength = written.length;
    this.#writtenWords = wordsOf(written);
    this.#writtenMask = maskOf(written.length);
  }

  /** Creates the child for a new key. */
  protected abstract child(name: string, key: Uint8Array): Child;

  /**
   * The child of a key of the tape. Objects mostly have their keys in the same order, so the sibling after the last one
   * is tried first.
   */
  member(tape: Tape, key: number): Child {
    const children = this.#children;
    const plain = tape.kind(key) === kind.string;
    const bytes = plain ? tape.bytes : Buffer.concat([tape.keyBytes(key), Buffer.alloc(padding)]);
    const view = plain ? tape.view : new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const start = plain ? tape.start(key) + 1 : 0;
    const end = plain ? tape.end(key) - 1 : bytes.length - padding;
    const compared = Math.min(children.length, mostCompared);
    for (let tried = 0, at = this.#next; tried < compared; tried++, at++) {
      if (at >= children.length) at = 0;
      const child = children[at];
      if (child?.isNamed(view, start, end) === true) {
        this.#next = at + 1;
        return child;
      }
    }
    const keyBytes = Buffer.from(bytes.subarray(start, end));
    return this.#byKey?.get(keyBytes.toString('latin1')) ?? this.#added(tape.stringValue(key), keyBytes);
  }

  /**
   * The known child whose key, with quotes and colon and no white space, begins at a byte; undefined for a new key and
   * for another notation.
   */
  memberAt(view: DataView, start: number): Child | undefined {
    const at = this.#writtenAt(view, start, this.#next);
    if (at === undefined) return undefined;
    this.#next = at + 1;
    return this.#children[at];
  }

  /** Like `memberAt` for an object that is read a second time: the expected order of keys stays. */
  repeatedMemberAt(view: DataView, start: number): Child | undefined {
    const at = this.#writtenAt(view, start, 0);
    return at === undefined ? undefined : this.#children[at];
  }

  /** The index of the child whose key begins at a byte, searched from `first` on; undefined where none of the compared ones matches. */
  #writtenAt(view: DataView, start: number, first: number): number | undefined {
    const children = this.#children;
    const compared = Math.min(children.length, mostCompared);
    for (let tried = 0, at = first; tried < compared; tried++, at++) {
      if (at >= children.length) at = 0;
      if (children[at]?.isWritten(view, start) === true) return at;
    }
    return undefined;
  }

  #added(name: string, key: Buffer): Child {
    const child = this.child(name, key);
    this.#next = this.#children.push(child);
    if (this.#children.length > mostCompared) {
      this.#byKey ??= new Map(this.#children.map((each) => [each.#text, each]));
      this.#byKey.set(child.#text, child);
    }
    return child;
  }

  get #text(): string {
    return Buffer.from(this.#words.buffer, 0, this.#length).toString('latin1');
  }

  /** Whether the bytes from `start` to before `end` are the key; at least three more bytes must follow. */
  isNamed(view: DataView, start: number, end: number): boolean {
    if (this.#length !== end - start) return false;
    const words = this.#words;
    const last = words.length - 1;
    for (let at = 0; at < last; at++) if (view.getInt32(start + at * 4, true) !== words[at]) return false;
    return last < 0 || (view.getInt32(start + last * 4, true) & this.#lastMask) === words[last];
  }

  /** Whether the key with its quotes and colon begins at a byte. */
  isWritten(view: DataView, start: number): boolean {
    const words = this.#writtenWords;
    const last = words.length - 1;
    if (last < 0 || start + words.length * 4 > view.byteLength) return false;
    for (let at = 0; at < last; at++) if (view.getInt32(start + at * 4, true) !== words[at]) return false;
    return (view.getInt32(start + last * 4, true) & this.#writtenMask) === words[last];
  }
}

/** Packs four bytes into each integer, the last one padded with zeros. */
function wordsOf(bytes: Uint8Array): Int32Array {
  const words = new Int32Array((bytes.length + 3) >> 2);
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

/** Mask of the used bits in the last word of `length` bytes. */
function maskOf(length: number): number {
  return length % 4 === 0 ? -1 : (1 << ((length % 4) * 8)) - 1;
}
