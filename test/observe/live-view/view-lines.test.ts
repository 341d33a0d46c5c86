import fc from 'fast-check';
import { expect, test } from 'vitest';
import { displayWidth } from '../../../src/core/text/width.js';
import { paintIn, type View, type ViewRow, viewLines } from '../../../src/observe/live-view/view-lines.js';

const plain = paintIn(false);
const coloured = paintIn(true);
const colours = /\u001b\[\d*m/g;

const name = fc.oneof(
  fc.constantFrom('financial-events', 'group-events', '売上明細', '👩‍👩‍👧 shop', 'a\u001b[2Jb', 'ä\nö'),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
);
const row = fc.record({
  name,
  state: fc.constantFrom<ViewRow['state']>('waits', 'runs', 'done'),
  share: fc.option(fc.double({ min: -1, max: 2, noNaN: true }), { nil: undefined }),
  amount: fc.constantFrom('', '3 pages', '1,234 of ~2,700 pages', '12.3 MB of 4.0 GB'),
  leftMs: fc.option(fc.integer({ min: 0, max: 400_000_000 }), { nil: undefined }),
  details: fc.array(fc.constantFrom('12,345 events/s', '4 slices', '0/30 tokens', 'next in 1.2 s', '売上.ndjson'), {
    maxLength: 4,
  }),
  retries: fc.array(fc.tuple(fc.constantFrom('throttled', 'fault', 'token-expired'), fc.integer({ min: 1 })), {
    maxLength: 3,
  }),
  nextTryMs: fc.integer({ min: 0, max: 400_000 }),
});
const view = fc.record({
  command: fc.constantFrom('backfill', 'sync', 'import'),
  subject: fc.array(name, { maxLength: 2 }),
  elapsedMs: fc.integer({ min: 0, max: 400_000_000 }),
  rows: fc.array(row, { maxLength: 5 }),
});

test('no line is wider than the terminal, and none can do anything to it', () => {
  fc.assert(
    fc.property(view, fc.integer({ min: 1, max: 200 }), (drawn: View, width) => {
      const lines = viewLines(drawn, width, plain);
      expect(lines.length).toBeGreaterThanOrEqual(1 + drawn.rows.length);
      for (const line of lines) {
        expect(line).not.toMatch(/\p{Control}/u);
        expect(displayWidth(line), line).toBeLessThanOrEqual(width);
      }
      // Colours take no room and change nothing else.
      expect(viewLines(drawn, width, coloured).map((line) => line.replaceAll(colours, ''))).toEqual(lines);
    }),
  );
});

test('what it looks like, wide and narrow', () => {
  const drawn: View = {
    command: 'backfill',
    subject: ['shop', 'data/lake'],
    elapsedMs: 83_000,
    rows: [
      { ...quiet, name: 'financial-event-groups', state: 'done', share: 1, amount: '4 pages' },
      {
        name: 'financial-events',
        state: 'runs',
        share: 0.456,
        amount: '1,234 of ~2,706 pages',
        leftMs: 2_900_000,
        details: ['50 events/s', '3 slices', '0/30 tokens', 'next in 1.2 s'],
        retries: [
          ['throttled', 3],
          ['fault', 1],
        ],
        nextTryMs: 12_000,
      },
      { ...quiet, name: 'group-events', state: 'waits' },
    ],
  };
  expect(viewLines(drawn, 79, plain)).toEqual([
    'backfill · shop · data/lake · 1 min 23 s',
    '  financial-event-groups  █████████████████   done  4 pages',
    '  financial-events        ███████░░░░░░░░░░   45 %  48 min 20 s left',
    '                          50 events/s · 3 slices · 0/30 tokens · next in 1.2 s',
    '                          next try in 12 s, retries: 3 throttled, 1 fault',
    '  group-events            waits',
  ]);
  expect(viewLines(drawn, 39, plain)).toEqual([
    'backfill · shop · data/lake',
    'financial-event-groups',
    '  ████████████   done  4 pages',
    'financial-events',
    '  █████░░░░░░░   45 %  48 min 20 s left',
    '  50 events/s · 3 slices · 0/30 tokens',
    '  next try in 12 s',
    'group-events',
    '  waits',
  ]);
});

const quiet = { share: undefined, amount: '', leftMs: undefined, details: [], retries: [], nextTryMs: 0 };
