import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printable, printableColoured, printableLines, shortenMessage } from '../../src/core/printable.js';

/** What no terminal may get of a text from outside: controls, separators of lines, turned or invisible text. */
const unsafe = /[\p{Control}\u00ad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u;
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      'a',
      '\u001b',
      '[',
      '2',
      'J',
      ']0;',
      '\u0007',
      '\n',
      '\r',
      '\t',
      '\u009b',
      '\u202e',
      '👩',
      '\u200d',
      '\ufe0f',
      '🏽',
    ),
  }),
);

test('what would move the cursor, turn the line or be invisible is shown as an escape of JSON', () => {
  expect(printable('a\tb\r\nc\x1b[2J\x7f\x9b\u2028\u202e日')).toBe(
    'a\\tb\\r\\nc\\u001b[2J\\u007f\\u009b\\u2028\\u202e日',
  );
  expect(printable('a\u200bb\u00adc\u{e0041}\ud800')).toBe('a\\u200bb\\u00adc\\udb40\\udc41\\ud800');
  fc.assert(
    fc.property(texts, (text) => {
      expect(printable(text)).not.toMatch(unsafe);
      expect(printableLines(text).replaceAll('\n', '')).not.toMatch(unsafe);
      expect(printable(printable(text))).toBe(printable(text));
    }),
  );
});

test('emoji, accents and every script stay as they are', () => {
  for (const text of ['👨‍👩‍👧', '👩🏽‍💻', '❤️‍🔥', '🇩🇪', 'é e\u0301', '日本語', 'עברית', 'العربية', '€ … ½']) {
    expect(printable(text)).toBe(text);
  }
  // A joiner that joins no pictures.
  expect(printable('a\u200db')).toBe('a\\u200db');
});

test('in a text of JSON, escapes leave what its strings hold as it was', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      for (const indent of [0, 2]) {
        const text = JSON.stringify(value, undefined, indent);
        expect(JSON.parse(printableLines(text))).toEqual(JSON.parse(text));
      }
    }),
  );
});

test('of colours only those that the program gives stay', () => {
  expect(printableColoured('\u001b[32m█\u001b[0m \u001b[8mhidden\u001b[0m\u001b[2J')).toBe(
    '\u001b[32m█\u001b[0m \\u001b[8mhidden\u001b[0m\\u001b[2J',
  );
});

test('a message that quotes a long text has its beginning, and its own end', () => {
  const path = `/lake/${'folder/'.repeat(30)}name.parquet`;
  expect(shortenMessage(`expected ${path} to be there`)).toBe(`expected ${path} to be there`);
  expect(shortenMessage(`expected an id, got ${'x'.repeat(20_000)}; run it again`)).toBe(
    `expected an id, got ${'x'.repeat(200)}…; run it again`,
  );
  const words = shortenMessage(`expected an id, got ${'word '.repeat(5000)}; run it again`);
  expect(words.length).toBeLessThan(1300);
  expect(words).toMatch(/^expected an id, got word .* … .*; run it again$/);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 5000 }), (text) => {
      expect(shortenMessage(text).length).toBeLessThan(1300);
    }),
  );
});
