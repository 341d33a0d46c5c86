import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SecretSearch } from '../../../src/engine/auth/secret-search.js';

/** Stands for the letter u after a backslash. */
const slashedU = '\u0175';

/** The escapes of one byte, as text; one character is one byte. */
const escapes: readonly (readonly [pattern: RegExp, read: (digits: string) => number])[] = [
  [/%([\da-f]{2})$/i, (digits) => parseInt(digits, 16)],
  [/\u017500([\da-f]{2})$/i, (digits) => parseInt(digits, 16)],
  [/&#x0{0,8}([\da-f]{1,2});$/i, (digits) => parseInt(digits, 16)],
  [/&#0{0,8}(\d{1,3});$/, Number],
  [/&quot;$/i, () => 0x22],
  [/&amp;$/i, () => 0x26],
  [/&apos;$/i, () => 0x27],
  [/&lt;$/i, () => 0x3c],
  [/&gt;$/i, () => 0x3e],
];

type Read = readonly (readonly [character: string, start: number, end: number])[];

/** Every text that is read, character by character, whenever one more is known; with each character where it begins and ends. */
function* readTexts(source: string): Generator<Read> {
  let read: Read = [];
  let slash: number | undefined;
  for (let at = 0; at < source.length; at++) {
    let [character, start]: [string | undefined, number] = [source.charAt(at), at];
    while (character !== undefined) {
      if (character === '\\') {
        slash ??= start;
        break;
      }
      const isUnicode = slash !== undefined && character === 'u';
      const isControl = slash === start - 1 && /[a-z0-9]/i.test(character) && !isUnicode;
      const first = isControl ? start : (slash ?? start);
      read = [...read, [isUnicode ? slashedU : character, first, at + 1]];
      slash = undefined;
      yield read;
      const text = read.map(([each]) => each).join('');
      character = undefined;
      for (const [pattern, value] of escapes) {
        const match = pattern.exec(text);
        if (match === null || match[0].length > 13 || value(match[1] ?? '') > 255) continue;
        character = String.fromCharCode(value(match[1] ?? ''));
        start = read[match.index]?.[1] ?? 0;
        read = read.slice(0, match.index);
        break;
      }
    }
  }
  yield read;
}

function textOf(read: Read): string {
  return read.map(([character]) => (character === slashedU ? 'u' : character)).join('');
}

const sameSpace = (text: string): string => text.replaceAll('+', ' ');

/** The bytes that are part of a text, by comparing every text at every place. */
function covered(secrets: readonly string[], source: string): Set<number> {
  const found = new Set<number>();
  const cover = (start: number, end: number): void => {
    for (let at = start; at < end; at++) found.add(at);
  };
  const all = secrets.flatMap((secret) => {
    const resolved = textOf([...readTexts(secret)].at(-1) ?? []);
    return resolved.length >= 4 ? [secret, resolved] : [secret];
  });
  // A backslash isn't read: those beside what is found may be of a text that begins or ends with some.
  const mostBehind = 13 * Math.max(1, ...all.map(({ length }) => length));
  const widened = (start: number, end: number): readonly [start: number, end: number] => {
    let [first, last] = [start, end];
    while (secrets.some((text) => text.startsWith('\\')) && source[first - 1] === '\\') first--;
    while (secrets.some((text) => text.endsWith('\\'))) {
      const [next] = /^(?:\\u005c|\\|%(?:25)*5c|&#0*92;|&#x0*5c;)/i.exec(source.slice(last, end + mostBehind)) ?? [];
      if (next === undefined) break;
      last += next.length;
    }
    return [first, last];
  };
  for (const secret of all.filter((text) => text !== '').map(sameSpace)) {
    for (let at = 0; at + secret.length <= source.length; at++)
      if (sameSpace(source.slice(at, at + secret.length)) === secret) cover(at, at + secret.length);
    for (const read of readTexts(source)) {
      const tail = read.slice(-secret.length);
      if (sameSpace(textOf(tail)) === secret) cover(...widened(tail[0]?.[1] ?? 0, read.at(-1)?.[2] ?? 0));
    }
  }
  return found;
}

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

/** Texts of few characters, most of them parts of escapes, so that much resembles much. */
const dense = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      '%',
      '25',
      '61',
      '\\',
      'u00',
      '&',
      'amp;',
      '#97;',
      '#x61;',
      '+',
      ' ',
      ';',
      '\\/',
      '5c',
      'é',
    ),
    {
      minLength: 1,
      maxLength: 24,
    },
  )
  .map((pieces) => pieces.join(''));
const secretText = dense.filter((text) => !text.includes('é'));

test('finds what a comparison at every place finds', () => {
  fc.assert(
    fc.property(fc.array(secretText, { minLength: 1, maxLength: 4 }), dense, fc.nat(), (secrets, text, at) => {
      const secret = secrets[0] ?? '';
      const cut = at % (text.length + 1);
      const source = text.slice(0, cut) + secret + text.slice(cut);
      const search = new SecretSearch(secrets);
      const found = new Set(
        search
          .matches(latin1(source))
          .flatMap(({ start, end }) => Array.from({ length: end - start }, (_, n) => start + n)),
      );
      const expected = covered(secrets, source);
      expect([...found].toSorted((a, b) => a - b)).toEqual([...expected].toSorted((a, b) => a - b));
      expect(search.isIn(latin1(source))).toBe(expected.size > 0);
    }),
    { numRuns: 500, examples: [[['#x61;%%5c', 'a'], '5c%', 934811136]] },
  );
});

/** Writes each character in one of the ways of `ways`, in turn, and escapes the whole once more for each of `more`. */
const ways: readonly ((character: string) => string)[] = [
  (character) => character,
  (character) => `%${hex(character)}`,
  (character) => `\\u00${hex(character)}`,
  (character) => `&#${character.charCodeAt(0)};`,
  (character) => `&#x${hex(character)};`,
  (character) => `%25${hex(character)}`,
];

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, '0');
}

test('finds a secret each character of which is escaped in another way, and all of it once more', () => {
  // Of backslashes, what is escaped is not found out, and one at the end is left.
  const secret = fc.stringMatching(/^[\x21-\x5b\x5d-\x7e]([\x21-\x7e]{0,32}[\x21-\x5b\x5d-\x7e]{8})$/);
  const again = fc.constantFrom<(text: string) => string>(
    (text) => text,
    encodeURIComponent,
    (text) => JSON.stringify(text).slice(1, -1),
    (text) => text.replaceAll('&', '&amp;'),
    (text) => encodeURIComponent(encodeURIComponent(text)),
  );
  fc.assert(
    fc.property(secret, fc.array(fc.constantFrom(...ways), { minLength: 1 }), again, (text, chosen, escaped) => {
      const written = escaped(Array.from(text, (character, at) => chosen[at % chosen.length]?.(character)).join(''));
      const bytes = latin1(`{"error":"got ${written}, which is wrong"}`);
      const search = new SecretSearch([text]);
      expect(search.isIn(bytes)).toBe(true);
      const covers = search.matches(bytes).some(({ start, end }) => start <= 14 && end >= 14 + written.length);
      expect(covers).toBe(true);
    }),
  );
});

/** A search at each place for itself would take minutes for each of these, and days for some. */
test.each<[string, (length: number) => string, (length: number) => string]>([
  ['repeats its beginning', (length) => `${'a'.repeat(length - 1)}b`, (length) => 'a'.repeat(length)],
  ['repeats its beginning escaped', (length) => `${'a'.repeat(length - 1)}b`, (length) => '%61'.repeat(length / 3)],
  ['escapes what is escaped', (length) => `${'%'.repeat(length - 1)}b`, (length) => '%25'.repeat(length / 3)],
  ['begins escapes without end', (length) => 'a'.repeat(length), (length) => '&#0000'.repeat(length / 6)],
  ['begins all kinds of escapes', (length) => '%\\&'.repeat(length / 3), (length) => '%\\u00&#x%2'.repeat(length / 10)],
  ['is full of blanks', (length) => '+ '.repeat(length / 2), (length) => '+ '.repeat(length / 2 - 1)],
  ['is it, again and again', (length) => 'ab'.repeat(length / 2), (length) => 'ab'.repeat(length / 2)],
])('takes as long for a text as the text is long, where the text %s', (_, secretOf, textFrom) => {
  const search = new SecretSearch([8000, 3000].map((length) => secretOf(length)));
  const text = latin1(textFrom(1_200_000));
  for (const match of search.matches(text)) expect(match.end).toBeGreaterThan(match.start);
  search.isIn(text);
});
