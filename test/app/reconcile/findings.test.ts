import { expect, test } from 'vitest';
import { findingsText } from '../../../src/app/reconcile/findings.js';
import type { ChangeExample } from '../../../src/app/results.js';

const example = (id: string): ChangeExample => ({
  change: 'appeared',
  id,
  event_list: null,
  amazon_order_id: null,
  posted_at: null,
});

test('rows that changed beside the examples are counted', () => {
  const text = (rows: number) =>
    findingsText({
      changes: [
        {
          pipeline: 'financial-events',
          load_keys: ['group/G'],
          appeared: rows,
          vanished: 0,
          differ: 0,
          rows,
          released: 0,
          grown: 0,
          examples: ['a', 'b', 'c'].map(example),
        },
      ],
      emptied: [],
      uncompared: [],
    });
  expect(text(1204)).toMatch(/appeared: c\n {4}and 1,201 more\n$/);
  expect(text(3)).toMatch(/appeared: c\n$/);
});

test('what was expected has headings of its own, and is no change', () => {
  const none = { appeared: 0, vanished: 0, differ: 0, released: 0, grown: 0, rows: 0, examples: [] };
  const changes = [
    { ...none, pipeline: 'transactions', load_keys: ['window/2026-01-01/2026-01-02'], released: 2 },
    { ...none, pipeline: 'group-events', load_keys: ['group/A'], grown: 7 },
    { ...none, pipeline: 'group-events', load_keys: ['group/B'], grown: 5 },
    { ...none, pipeline: 'financial-event-groups', load_keys: ['window/2026-01-01/2026-02-01'], grown: 1 },
  ];
  const text = findingsText({ changes, emptied: [], uncompared: [] });
  expect(text.split('\n')).toEqual([
    'Released since it was read last, transactions: 2 transactions',
    'Open settlements that have grown, group-events: 12 new events in 2 settlements',
    'Open settlements that have grown, financial-event-groups: 1 changed',
    '',
  ]);
});
