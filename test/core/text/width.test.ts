import fc from 'fast-check';
import { expect, test } from 'vitest';
import { displayWidth, truncateToWidth, wrapForTerminal } from '../../../src/core/text/width.js';

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

test('prose goes on below, indented, and commands are not broken', () => {
  const prose = 'the lake lacks days: run `ledgerlake backfill --from 2025-01-01`, or leave it so';
  expect(wrapForTerminal(prose, 30)).toBe(
    'the lake lacks days: run\n  `ledgerlake backfill --from 2025-01-01`,\n  or leave it so',
  );
  expect(wrapForTerminal(prose, undefined)).toBe(prose);
  const kept =
    'short\n  ledgerlake backfill --from 2025-01-01\nLINE 1: SELECT one, two, three\nname  a  column  another';
  expect(wrapForTerminal(kept, 20)).toBe(kept);
});

const mixed = fc.string({ unit: fc.constantFrom('a', 'é', '日', '👍', '👨‍👩‍👧', 'e\u0301', ' ') });

test('a text is fitted by cutting whole characters, and only when it must be', () => {
  fc.assert(
    fc.property(mixed, fc.integer({ min: 1, max: 12 }), (text, width) => {
      const cut = truncateToWidth(text, width);
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
