import fc from 'fast-check';
import { expect, test } from 'vitest';
import { displayWidth, fitted, printable } from '../../../src/core/text/width.js';

test.each([
  ['plain', 5],
  ['', 0],
  ['Ünïcode', 7],
  ['é (combined: e\u0301)', 15],
  ['日本語', 6],
  ['한국', 4],
  ['ﾊﾝｶｸ', 4],
  ['ＡＢ', 4],
  ['👍', 2],
  ['👨‍👩‍👧', 2],
  ['🇩🇪', 2],
  ['❤️', 2],
  ['€ … ½', 5],
  ['a\u200bb', 2],
])('%j takes %i cells', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

const mixed = fc.string({ unit: fc.constantFrom('a', 'é', '日', '👍', '👨‍👩‍👧', 'e\u0301', ' ') });

test('a text is fitted by cutting whole characters, and only when it must be', () => {
  fc.assert(
    fc.property(mixed, fc.integer({ min: 1, max: 12 }), (text, width) => {
      const cut = fitted(text, width);
      expect(displayWidth(cut)).toBeLessThanOrEqual(width);
      if (displayWidth(text) <= width) expect(cut).toBe(text);
      else {
        expect(cut.endsWith('…')).toBe(true);
        expect(text.startsWith(cut.slice(0, -1))).toBe(true);
        // One wide character at most was too much.
        expect(displayWidth(cut)).toBeGreaterThanOrEqual(width - 1);
      }
    }),
  );
});

test('what would move the cursor or turn the line is shown as an escape', () => {
  expect(printable('a\tb\r\nc\x1b[2J\x7f\x9b\u2028\u202e日')).toBe('a\\tb\\r\\nc\\x1b[2J\\x7f\\x9b\\u2028\\u202e日');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(printable(text)).not.toMatch(/[\p{Control}\u2028\u2029\u202a-\u202e]/u);
    }),
  );
});
