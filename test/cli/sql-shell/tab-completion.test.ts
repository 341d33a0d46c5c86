import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { suggestions, type CompletionNames } from '../../../src/cli/sql-shell/tab-completion.js';

const catalog: CompletionNames = {
  tables: new Map([
    ['entries', ['event_id', 'amount', 'currency']],
    ['events', ['event_id', 'raw']],
    ['groups', ['group_id', 'original_total']],
    ['seller_months', ['month']],
  ]),
  keywords: ['select', 'from', 'group', 'order'],
};

describe('Tab offers', () => {
  test.each<[string, string[]]>([
    ['sel', ['select']],
    ['SEL', ['SELECT']],
    ['FROM entries;\nSEL', ['SELECT']],
    ['sell', ['seller_months']],
    ['FROM sel', ['seller_months']],
    ['SELECT gr', ['group', 'group_id', 'groups']],
    ['SELECT * FROM e', ['entries', 'events']],
    ['SELECT *\nFROM ', ['entries', 'events', 'groups', 'seller_months']],
    ['SELECT * FROM events JOIN EN', ['entries']],
    ['SELECT events.', ['event_id', 'raw']],
    ['FROM entries AS e SELECT e.a', ['amount']],
    ['FROM groups g, entries x WHERE g.o', ['original_total']],
    ['SELECT nothing.', []],
    ['SELECT ', []],
    ["SELECT 'e", []],
    ["SELECT 'it''s' || e", ['entries', 'event_id', 'events']],
    ['SELECT "ev', []],
    ['SELECT 1e', []],
    ['.s', ['.schema']],
    ['.', ['.exit', '.format', '.help', '.output', '.quit', '.read', '.schema', '.tables']],
    ['.schema ', ['entries', 'events', 'groups', 'seller_months']],
    ['.format j', ['json']],
    ['.output e', []],
  ])('behind %j', (text, words) => {
    expect(suggestions(text, catalog).words).toEqual(words);
  });

  test('what begins as the end of the text does, whatever the text', () => {
    const piece = fc.oneof(
      fc.constantFrom('FROM ', 'SELECT ', 'e', '.', 'entries', "'", '"', '\n', 'é', '.schema '),
      fc.string({ unit: 'binary', maxLength: 5 }),
    );
    let offered = 0;
    fc.assert(
      fc.property(
        fc.array(piece).map((pieces) => pieces.join('')),
        (text) => {
          const { words, typed } = suggestions(text, catalog);
          expect(text.endsWith(typed)).toBe(true);
          for (const word of words) expect(word.toLowerCase().startsWith(typed.toLowerCase())).toBe(true);
          expect(new Set(words).size).toBe(words.length);
          offered += words.length;
        },
      ),
      { numRuns: 500 },
    );
    expect(offered).toBeGreaterThan(0);
  });
});
