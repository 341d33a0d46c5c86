/** Where a value stands in its text: UTF-16 units, `end` behind the last one. */
interface Place {
  readonly start: number;
  readonly end: number;
}

export interface JsonLiteral extends Place {
  readonly type: 'literal';
  readonly value: null | boolean;
}

export interface JsonNumber extends Place {
  readonly type: 'number';
  /** The number exactly as written. */
  readonly text: string;
}

export interface JsonString extends Place {
  readonly type: 'string';
  /** Escapes decoded; a lone surrogate escape stays what it is. */
  readonly value: string;
}

export interface JsonArray extends Place {
  readonly type: 'array';
  readonly items: readonly JsonNode[];
}

export interface JsonObject extends Place {
  readonly type: 'object';
  /** In the order of the text. Of members with one name only the last is here, in its own place. */
  readonly members: readonly JsonMember[];
}

export interface JsonMember {
  /** Escapes decoded. */
  readonly key: string;
  readonly value: JsonNode;
}

export type JsonNode = JsonLiteral | JsonNumber | JsonString | JsonArray | JsonObject;

/**
 * Reads one JSON text (RFC 8259) with the place of each value and the text of each number, which JSON.parse loses.
 * Accepts what JSON.parse accepts and nothing else. Throws a SyntaxError that names the place.
 */
export function parseJsonText(text: string): JsonNode {
  const root = readValue(text, skipSpace(text, 0));
  const end = skipSpace(text, root.end);
  if (end < text.length) throw broken(text, end, 'the end');
  return root;
}

/** The same for bytes: they must be UTF-8 throughout, and a byte order mark is no part of JSON. */
export function parseJsonBytes(bytes: Uint8Array): JsonNode {
  return parseJsonText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
}

/** The value of a member, or undefined where the value is no object or has no such member. */
export function memberOf(node: JsonNode | undefined, key: string): JsonNode | undefined {
  if (node?.type !== 'object') return undefined;
  return node.members.find((member) => member.key === key)?.value;
}

/** What JSON.parse makes of the same text. */
export function plainOf(node: JsonNode): unknown {
  switch (node.type) {
    case 'literal':
    case 'string':
      return node.value;
    case 'number':
      return Number(node.text);
    case 'array':
      return node.items.map(plainOf);
    case 'object':
      // Makes an own property of `__proto__` too, as JSON.parse does.
      return Object.fromEntries(node.members.map(({ key, value }) => [key, plainOf(value)]));
  }
}

// Each reader takes the place where its value begins and gives the value, whose `end` says where to go on.

function readValue(text: string, start: number): JsonNode {
  switch (text.charAt(start)) {
    case '{':
      return readObject(text, start);
    case '[':
      return readArray(text, start);
    case '"':
      return readString(text, start);
    case 'n':
      return readLiteral(text, start, 'null', null);
    case 't':
      return readLiteral(text, start, 'true', true);
    case 'f':
      return readLiteral(text, start, 'false', false);
    default:
      return readNumber(text, start);
  }
}

function readLiteral(text: string, start: number, word: string, value: null | boolean): JsonLiteral {
  if (!text.startsWith(word, start)) throw broken(text, start, word);
  return { type: 'literal', value, start, end: start + word.length };
}

function readNumber(text: string, start: number): JsonNumber {
  const [number] = matchAt(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y, text, start);
  if (number === undefined) throw broken(text, start, 'a value');
  return { type: 'number', text: number, start, end: start + number.length };
}

function readString(text: string, start: number): JsonString {
  let value = '';
  let at = start + 1;
  for (;;) {
    const unit = text[at];
    if (unit === undefined || unit < ' ') throw broken(text, at, 'the rest of a string');
    if (unit === '"') return { type: 'string', value, start, end: at + 1 };
    if (unit === '\\') {
      const [escape, short, hex] = matchAt(/\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))/y, text, at);
      if (escape === undefined) throw broken(text, at, 'an escape');
      value += hex === undefined ? shortEscape(short ?? '') : String.fromCharCode(parseInt(hex, 16));
      at += escape.length;
    } else {
      value += unit;
      at += 1;
    }
  }
}

function shortEscape(letter: string): string {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return letter;
  }
}

function readArray(text: string, start: number): JsonArray {
  const items: JsonNode[] = [];
  let at = skipSpace(text, start + 1);
  if (text[at] === ']') return { type: 'array', items, start, end: at + 1 };
  for (;;) {
    const item = readValue(text, at);
    items.push(item);
    at = skipSpace(text, item.end);
    if (text[at] === ']') return { type: 'array', items, start, end: at + 1 };
    at = skipSpace(text, expect(text, at, ','));
  }
}

function readObject(text: string, start: number): JsonObject {
  const members: JsonMember[] = [];
  let at = skipSpace(text, start + 1);
  if (text[at] === '}') return { type: 'object', members, start, end: at + 1 };
  for (;;) {
    if (text[at] !== '"') throw broken(text, at, 'a name');
    const name = readString(text, at);
    const colon = expect(text, skipSpace(text, name.end), ':');
    const value = readValue(text, skipSpace(text, colon));
    members.push({ key: name.value, value });
    at = skipSpace(text, value.end);
    if (text[at] === '}') return { type: 'object', members: lastOfEachName(members), start, end: at + 1 };
    at = skipSpace(text, expect(text, at, ','));
  }
}

function lastOfEachName(members: readonly JsonMember[]): JsonMember[] {
  const last = new Map(members.map((member) => [member.key, member]));
  return members.filter((member) => last.get(member.key) === member);
}

function skipSpace(text: string, at: number): number {
  const [space = ''] = matchAt(/[ \t\n\r]*/y, text, at);
  return at + space.length;
}

function expect(text: string, at: number, unit: string): number {
  if (text[at] !== unit) throw broken(text, at, unit);
  return at + 1;
}

/** The match of a sticky expression at a place, group by group; empty where there is none. */
function matchAt(pattern: RegExp, text: string, at: number): readonly (string | undefined)[] {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? [];
}

function broken(text: string, at: number, expected: string): SyntaxError {
  const found = at < text.length ? JSON.stringify(text.slice(at, at + 12)) : 'the end of the text';
  return new SyntaxError(`expected ${expected} at ${at}, found ${found}`);
}
