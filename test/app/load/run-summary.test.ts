import { expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { summaryGrid, summaryObject, warningLines, warningTexts } from '../../../src/app/load/run-summary.js';
import type { PipelineSummary } from '../../../src/engine/run/pipeline-summary.js';

const summary: PipelineSummary = {
  ...{ pipeline: 'group-events', slices: 2, requests: 9, retries: 3, throttled: 1, pages: 6 },
  ...{ files: 4, bytes: 1234, seconds: 1.5 },
  rows: new Map([
    ['group_events', 7],
    ['group_entries', 70],
  ]),
  warnings: new Map([['unknownLists', new Map([['NewEventList', 2]])]]),
  skipped: [{ label: 'group G-1', reason: 'it is probably too large', isAlone: true }],
};

test('the summary for programs has all that the contract names, and says which slices were left open', () => {
  const object = summaryObject({
    ...{ account: 'shop', lake: 'data/lake', seconds: 2, summaries: [summary] },
    range: { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) },
    failure: new LedgerlakeError('INCOMPLETE', 'left open'),
  });
  expect(object).toMatchObject({
    status: 'failed',
    pipelines: {
      'group-events': {
        ...{ slices: 2, requests: 9, retries: 3, throttled: 1, pages: 6, events: 7, entries: 70 },
        ...{ files: 4, bytes: 1234, seconds: 1.5 },
        left_open: [{ slice: 'group G-1', reason: 'it is probably too large' }],
        warnings: { unknownLists: { NewEventList: 2 } },
      },
    },
  });
});

test.each(Object.keys(warningTexts))('what was noticed once is one: %s', (kind) => {
  const noticed = (times: number) =>
    warningLines([{ ...summary, warnings: new Map([[kind, new Map([['x', times]])]]) }]);
  expect(noticed(1)[0]).toMatch(/^Noticed: 1 (?:event|amount|value|order|range|place|transaction) /);
  expect(noticed(2)[0]).toMatch(/^Noticed: 2 (?:event|amount|value|order|range|place|transaction)s /);
});

test('the summary for people fits 80 columns', () => {
  const large: PipelineSummary = {
    ...summary,
    ...{ pipeline: 'financial-event-groups', slices: 1234, requests: 45_678, bytes: 999_900_000, seconds: 999.9 },
    rows: new Map([['groups', 250]]),
  };
  const rows = new Map([
    ['events', 98_765],
    ['entries', 998_765],
  ]);
  const lines = summaryGrid([large, { ...large, rows }]);
  expect(lines.map((line) => line.length <= 80)).toEqual([true, true, true]);
});
