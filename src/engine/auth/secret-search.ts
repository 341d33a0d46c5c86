/** Bytes from `start` to before `end`. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

const space = 0x20;
const percent = 0x25;
const ampersand = 0x26;
const plus = 0x2b;
const semicolon = 0x3b;
const backslash = 0x5c;
const letterU = 0x75;
/** The letter u after a backslash. */
const unicodeEscape = 0x175;

/** Bytes of the shortest text that is found because its escapes are resolved. */
const shortestResolved = 4;

/** Characters of the longest escape: `&#0000000065;`. */
const longestEscape = 13;

/**
 * Finds texts in bytes: literally, and with any of their characters escaped, once or several times, as in URLs, forms, JSON
 * and HTML. It is an automaton after Aho and Corasick, over the bytes and over the bytes with their escapes resolved, so
 * that the time is proportional to the number of bytes, whatever they and the texts are.
 */
export class SecretSearch {
  /** The column of each byte in the table; 0: in no text. In forms a `+` is a space, so both have the same. */
  readonly #columns = new Uint8Array(256);
  readonly #width: number;
  /** The next state, by state and column. State 0: nothing of any text. */
  readonly #next: Int32Array;
  /** By state: bytes of the longest text that ends there; 0: none. */
  readonly #lengths: Int32Array;
  readonly #longest: number;
  /** Whether a text begins or ends with backslashes, which the resolved bytes don't have. */
  readonly #beginsWithBackslash: boolean;
  readonly #endsWithBackslash: boolean;

  constructor(texts: readonly string[]) {
    this.#beginsWithBackslash = texts.some((text) => text.startsWith('\\'));
    this.#endsWithBackslash = texts.some((text) => text.endsWith('\\'));
    const bytes = texts.map((text) => Buffer.from(text)).filter(({ length }) => length > 0);
    const all = [
      ...bytes,
      // A secret may look as if it had escapes itself. What is short then would occur by chance.
      ...bytes.map((text) => resolved(text)).filter(({ length }) => length >= shortestResolved),
    ];
    this.#longest = Math.max(1, ...all.map(({ length }) => length));
    let width = 1;
    for (const byte of new Set(all.flatMap((text) => [...text]))) {
      if (this.#columns[byte] === 0) this.#columns[byte] = width++;
      if (byte === plus || byte === space) this.#columns[plus] = this.#columns[space] = this.#columns[byte] ?? 0;
    }
    this.#width = width;
    const mostStates = all.reduce((sum, { length }) => sum + length, 1);
    this.#next = new Int32Array(mostStates * width);
    this.#lengths = new Int32Array(mostStates);
    this.#addFailures(this.#addTexts(all));
  }

  /** Where the texts are; matches that overlap may be one. Those with escapes follow the others. */
  matches(bytes: Uint8Array): readonly Match[] {
    const found: { start: number; end: number }[] = [];
    this.#search(bytes, (start, end) => {
      // Found by their ends. Without this a text of one repeated character would have a match for each byte.
      let first = start;
      for (let last = found.at(-1); last !== undefined && first < last.end && last.end <= end; last = found.at(-1)) {
        first = Math.min(first, last.start);
        found.pop();
      }
      found.push({ start: first, end });
      return false;
    });
    return found;
  }

  /** Whether there is a match. */
  isIn(bytes: Uint8Array): boolean {
    return this.#search(bytes, () => true);
  }

  /** Calls `found` with each match, until it returns true. Returns whether it did. */
  #search(bytes: Uint8Array, found: (start: number, end: number) => boolean): boolean {
    let state = 0;
    for (let at = 0; at < bytes.length; at++) {
      state = this.#step(state, bytes[at] ?? 0);
      const length = this.#lengths[state] ?? 0;
      if (length > 0 && found(at + 1 - length, at + 1)) return true;
    }
    if (![percent, ampersand, backslash].some((escape) => bytes.includes(escape))) return false;
    let isFound = false;
    eachResolved(bytes, this.#longest + longestEscape, {
      first: 0,
      next: (before, byte) => this.#step(before, byte),
      reached: (after, startOf, end) => {
        const length = this.#lengths[after] ?? 0;
        if (length > 0)
          isFound = found(this.#startWithBackslashes(bytes, startOf(length)), this.#endWithBackslashes(bytes, end));
        return isFound;
      },
    });
    return isFound;
  }

  /** Where the backslashes before `start` begin, where they may be a text's. */
  #startWithBackslashes(bytes: Uint8Array, start: number): number {
    let first = start;
    while (this.#beginsWithBackslash && bytes[first - 1] === backslash) first--;
    return first;
  }

  /** Where the backslashes from `end` on end, escaped ones too, where they may be a text's. */
  #endWithBackslashes(bytes: Uint8Array, end: number): number {
    if (!this.#endsWithBackslash) return end;
    const behind = Buffer.from(bytes.subarray(end, end + this.#longest * longestEscape)).toString('latin1');
    return end + (/^(?:\\u005c|\\|%(?:25)*5c|&#(?:0*92|x0*5c);)*/i.exec(behind)?.[0].length ?? 0);
  }

  #step(state: number, byte: number): number {
    return this.#next[state * this.#width + (this.#columns[byte] ?? 0)] ?? 0;
  }

  /** Adds the texts as a trie. Returns the number of states. */
  #addTexts(texts: readonly Uint8Array[]): number {
    let states = 1;
    for (const text of texts) {
      let state = 0;
      for (const byte of text) {
        const at = state * this.#width + (this.#columns[byte] ?? 0);
        if (this.#next[at] === 0) this.#next[at] = states++;
        state = this.#next[at] ?? 0;
      }
      this.#lengths[state] = text.length;
    }
    return states;
  }

  /** Completes the table: where a text ends or fails, the search continues with the longest beginning that the bytes end with. */
  #addFailures(states: number): void {
    const width = this.#width;
    const failures = new Int32Array(states);
    const queue = new Int32Array(states);
    let queued = 1;
    for (let taken = 0; taken < queued; taken++) {
      const state = queue[taken] ?? 0;
      const failure = failures[state] ?? 0;
      for (let column = 0; column < width; column++) {
        const child = this.#next[state * width + column] ?? 0;
        const other = state === 0 ? 0 : (this.#next[failure * width + column] ?? 0);
        if (child === 0) {
          this.#next[state * width + column] = other;
          continue;
        }
        failures[child] = other;
        if (this.#lengths[child] === 0) this.#lengths[child] = this.#lengths[other] ?? 0;
        queue[queued++] = child;
      }
    }
  }
}

/** What reads resolved bytes: a number for what was read so far. */
interface Reader {
  readonly first: number;
  readonly next: (state: number, byte: number) => number;
  /** Called after each byte; `startOf(n)`: where the last n bytes begin, `end`: where they end. Returns whether to stop. */
  readonly reached: (state: number, startOf: (bytes: number) => number, end: number) => boolean;
}

/**
 * Reads bytes with their escapes resolved, and without backslashes: whether one is an escape depends on what is escaped once
 * more. A byte that an escape stands for may complete another escape. `kept`: the number of resolved bytes that are known, of
 * which the last ones become escapes. Returns the number of resolved bytes.
 */
function eachResolved(bytes: Uint8Array, kept: number, { first, next, reached }: Reader): number {
  const mask = 2 ** Math.ceil(Math.log2(kept + 1)) - 1;
  const codes = new Uint16Array(mask + 1);
  const starts = new Int32Array(mask + 1);
  const states = new Int32Array(mask + 1);
  // Index of the last resolved byte, and of the oldest one that is known.
  let last = -1;
  let oldest = 0;
  // Start of the backslashes before the next byte; -1: there is none.
  let slash = -1;
  const codeAt = (before: number) => (last - before < oldest ? undefined : codes[(last - before) & mask]);
  const startOf = (count: number) => starts[Math.max(oldest, last - count + 1) & mask] ?? 0;
  for (let at = 0; at < bytes.length; at++) {
    let code = bytes[at] ?? 0;
    let start = at;
    for (;;) {
      if (code === backslash) {
        if (slash === -1) slash = start;
        break;
      }
      const state = next(last < oldest ? first : (states[last & mask] ?? first), code);
      last++;
      oldest = Math.max(oldest, last - mask);
      codes[last & mask] = code === letterU && slash !== -1 ? unicodeEscape : code;
      // One backslash and a letter are a control character, and no part of what follows.
      const isControl = slash === start - 1 && isAlphanumeric(code) && code !== letterU;
      starts[last & mask] = slash === -1 || isControl ? start : slash;
      states[last & mask] = state;
      slash = -1;
      if (reached(state, startOf, at + 1)) return last + 1;
      const escape = escapeEndingIn(code, codeAt);
      if (escape === undefined) break;
      start = startOf(escape.length);
      last -= escape.length;
      code = escape.code;
    }
  }
  return last + 1;
}

/** Bytes with their escapes resolved. */
function resolved(bytes: Uint8Array): Uint8Array {
  const found: number[] = [];
  // The states are the numbers of bytes.
  const count = eachResolved(bytes, bytes.length + longestEscape, {
    first: 0,
    next: (before, code) => {
      found[before] = code;
      found.length = before + 1;
      return before + 1;
    },
    reached: () => false,
  });
  // An escaped backslash at the end is none of them.
  return Uint8Array.from(found.slice(0, count));
}

interface Escape {
  /** Characters that it consists of. */
  readonly length: number;
  readonly code: number;
}

/** The escape that the last character completes. `codeAt`: the character n before the last; undefined: there is none. */
function escapeEndingIn(code: number, codeAt: (before: number) => number | undefined): Escape | undefined {
  const digit = hexDigit(code);
  if (digit !== undefined) {
    const high = hexDigit(codeAt(1));
    if (high === undefined) return undefined;
    const value = 16 * high + digit;
    if (codeAt(2) === percent) return { length: 3, code: value };
    const isUnicode = codeAt(2) === 0x30 && codeAt(3) === 0x30 && codeAt(4) === unicodeEscape;
    return isUnicode ? { length: 5, code: value } : undefined;
  }
  return code === semicolon ? entityEndingHere(codeAt) : undefined;
}

/** Their characters by name. */
const entities: ReadonlyMap<string, string> = new Map([
  ['quot', '"'],
  ['amp', '&'],
  ['apos', "'"],
  ['lt', '<'],
  ['gt', '>'],
]);

/** The escape of HTML that the semicolon before which `codeAt` reads ends. */
function entityEndingHere(codeAt: (before: number) => number | undefined): Escape | undefined {
  let name = '';
  for (let before = 1; before < longestEscape; before++) {
    const code = codeAt(before);
    if (code === undefined) return undefined;
    if (code !== ampersand) {
      name = String.fromCharCode(code) + name;
      continue;
    }
    const length = before + 1;
    const named = entities.get(name.toLowerCase());
    if (named !== undefined) return { length, code: named.charCodeAt(0) };
    const [, hex, decimal] = /^#(?:x0*([\da-f]{1,2})|0*(\d{1,3}))$/i.exec(name) ?? [];
    const value = hex === undefined ? Number(decimal) : parseInt(hex, 16);
    return value <= 0xff ? { length, code: value } : undefined;
  }
  return undefined;
}

function isAlphanumeric(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}

function hexDigit(code: number | undefined): number | undefined {
  if (code === undefined) return undefined;
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const small = code | 0x20;
  return small >= 0x61 && small <= 0x66 ? small - 0x57 : undefined;
}
