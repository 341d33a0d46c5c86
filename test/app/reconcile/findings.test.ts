import { expect, test } from 'vitest';
import { findingsText, type ChangeExample } from '../../../src/app/reconcile/findings.js';

const example = (id: string): ChangeExample => ({
  ...{ change: 'appeared', id, eventList: null, amazonOrderId: null, postedAt: null },
});

test('rows that changed beside the examples are counted', () => {
  const text = (rows: number) =>
    findingsText({
      changes: [
        {
          ...{ pipeline: 'financial-events', units: ['group/G'], appeared: rows, vanished: 0, differ: 0, rows },
          examples: ['a', 'b', 'c'].map(example),
        },
      ],
      emptied: [],
      uncompared: [],
    });
  expect(text(1204)).toMatch(/appeared: c\n {4}and 1,201 more\n$/);
  expect(text(3)).toMatch(/appeared: c\n$/);
});
