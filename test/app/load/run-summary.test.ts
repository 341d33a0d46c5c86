import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import {
  nextSteps,
  summaryGrid,
  summaryObject,
  summaryText,
  warningLines,
  warningTexts,
} from '../../../src/app/load/run-summary.js';
import { questionNames } from '../../../src/app/query/question-names.js';
import { PipelineCounts } from '../../../src/engine/run/pipeline-counts.js';

const run = '20-0b8f1c2e5d0c4e9f';

const catalog = { version: 7, hash: 'a'.repeat(64) };

const loaded = {
  pipeline: 'group-events',
  slices: 2,
  conflicts: 0,
  requests: 9,
  retries: 3,
  throttled: 1,
  pages: 6,
  files: 4,
  bytes: 1234,
  seconds: 1.5,
  rows: new Map([
    ['group_events', 7],
    ['group_entries', 70],
  ]),
  warnings: new Map([['unknownLists', new Map([['NewEventList', 2]])]]),
  leftOpen: [{ label: 'group G-1', reason: 'it is probably too large', isAlone: true }],
};

function summaryOf(changes: Partial<PipelineCounts> = {}): PipelineCounts {
  return Object.assign(new PipelineCounts(loaded.pipeline), loaded, changes);
}

test('the summary for programs has all that the contract names, and says which slices were left open', () => {
  const object = summaryObject({
    account: 'shop',
    run,
    lake: 'data/lake',
    seconds: 2,
    catalog,
    summaries: [summaryOf()],
    range: { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) },
    failure: new LedgerlakeError('INCOMPLETE', 'left open'),
  });
  expect(object).toMatchObject({
    status: 'failed',
    account: 'shop',
    run,
    catalog,
    pipelines: {
      'group-events': {
        slices: 2,
        requests: 9,
        retries: 3,
        throttled: 1,
        pages: 6,
        events: 7,
        entries: 70,
        files: 4,
        bytes: 1234,
        seconds: 1.5,
        left_open: [{ slice: 'group G-1', reason: 'it is probably too large' }],
        warnings: { unknownLists: { NewEventList: 2 } },
      },
    },
  });
});

test('what was read again and is what the lake holds is unchanged, and no size', () => {
  expect(summaryGrid([summaryOf()])[1]).toContain('1.2 kB');
  expect(summaryGrid([summaryOf({ files: 0, bytes: 0 })])[1]).toMatch(/ 70 +unchanged +1\.5 s$/);
  expect(summaryGrid([summaryOf({ files: 0, bytes: 0, rows: new Map() })])[1]).toContain('0 B');
});

test.each(Object.keys(warningTexts))('what was noticed once is one: %s', (kind) => {
  const noticed = (times: number) =>
    warningLines([summaryOf({ warnings: new Map([[kind, new Map([['x', times]])]]) })]);
  expect(noticed(1)[0]).toMatch(/^Warning: 1 (?:event|amount|value|order|range|place|transaction|record|line|report) /);
  expect(noticed(2)[0]).toMatch(
    /^Warning: 2 (?:event|amount|value|order|range|place|transaction|record|line|report)s /,
  );
});

test.each([
  [0, 0, 'Nothing to do: data/lake already has'],
  [1, 0, 'Nothing new to commit; 1 request was sent: data/lake already has'],
  [
    9,
    2,
    'Nothing new to commit, because another run committed these windows meanwhile; 9 requests were sent: data/lake already has',
  ],
])(
  'a run that loads nothing says what its %i requests came to, %i slices of another run',
  (requests, conflicts, text) => {
    const report = {
      account: 'shop',
      run,
      lake: 'data/lake',
      seconds: 2,
      catalog,
      failure: undefined,
      summaries: [summaryOf({ slices: 0, requests, conflicts })],
      range: { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) },
    };
    expect(summaryText(report).trim()).toBe(
      `${text} 2026-01-01T00:00:00Z to 2026-02-01T00:00:00Z for shop, run 20-0b8f1c2e. --refresh reads it again.`,
    );
  },
);

test('a run that loads nothing says which rows of its range were forgotten', () => {
  const report = {
    account: 'shop',
    run,
    lake: 'data/lake',
    seconds: 2,
    catalog,
    failure: undefined,
    summaries: [summaryOf({ slices: 0, requests: 0, conflicts: 0 })],
    range: { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) },
  };
  const forgotten = (before: number) => summaryText({ ...report, forgottenBefore: before });
  expect(forgotten(Date.UTC(2026, 0, 15))).toContain(
    ' for shop, run 20-0b8f1c2e, whose rows before 2026-01-15T00:00:00Z were forgotten. --refresh reads it again.',
  );
  expect(forgotten(Date.UTC(2026, 0, 1))).not.toContain('forgotten');
});

test('the summary for people fits 80 columns', () => {
  const large = {
    pipeline: 'financial-event-groups',
    slices: 1234,
    requests: 45_678,
    bytes: 999_900_000,
    seconds: 999.9,
  };
  const rows = new Map([
    ['events', 98_765],
    ['entries', 998_765],
  ]);
  const lines = summaryGrid([summaryOf({ ...large, rows: new Map([['groups', 250]]) }), summaryOf({ ...large, rows })]);
  expect(lines.map((line) => line.length <= 80)).toEqual([true, true, true]);
});

test('records and their lines are counted by table, whichever came first', () => {
  const counts: [string, number][] = [
    ['ship_items', 1094],
    ['ship', 547],
  ];
  for (const rows of [new Map(counts), new Map(counts.toReversed())]) {
    expect(summaryGrid([summaryOf({ pipeline: 'ship', rows })])[1]).toContain(' 547 ship, 1,094 ship_items ');
  }
  expect(summaryGrid([summaryOf({ pipeline: 'ship', rows: new Map([['ship', 547]]) })])[1]).toContain(' 547 rows ');
});

test('transactions are counted, and what to try next reads what was loaded', () => {
  const rows = new Map([
    ['transactions', 98_765],
    ['transaction_entries', 998_765],
  ]);
  const of = summaryOf({ pipeline: 'transactions', rows });
  const range = { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) };
  const report = { account: 'shop', run, lake: 'data/lake', seconds: 2, catalog, range, failure: undefined };
  expect(summaryGrid([of])[1]).toMatch(/transactions +2 +9 +98,765 +998,765 /);
  expect(summaryObject({ ...report, summaries: [of] })).toMatchObject({
    pipelines: { transactions: { events: 98_765, entries: 998_765 } },
  });
  const folders = { keepsReplaced: false };
  expect(nextSteps({ ...report, summaries: [of] }, folders)).toMatch(
    /FROM read_parquet\('data\/lake\/transaction_entries\/.*\n +WHERE role = 'net' AND status = 'RELEASED' GROUP/,
  );
  const both = {
    ...report,
    summaries: [summaryOf({ pipeline: 'transactions', rows: new Map([['entries', 7], ...rows]) })],
  };
  expect(nextSteps(both, folders)).toContain(
    '\n  ledgerlake sql --lake data/lake "SELECT month, currency, earned, sales FROM pnl_by_month"\n',
  );
  expect(nextSteps(both, folders)).toContain('\n  ledgerlake report --lake data/lake\n');
  expect(nextSteps(both, folders)).toMatch(/FROM read_parquet\('data\/lake\/entries\/.*\n +WHERE role = 'net' GROUP/);
  // A pattern would count replaced rows, too.
  expect(nextSteps(both, { keepsReplaced: true })).toMatch(/pnl_by_month"\n  ledgerlake report --lake data\/lake\n$/);
  // Where the lake need not be named they fit a terminal of 80 characters.
  for (const one of [both, { ...both, summaries: [of] }]) {
    const lake = join(process.cwd(), 'data/lake');
    const shortest = nextSteps({ ...one, lake }, { ...folders, isDefaultLake: true });
    expect(shortest).toContain(" read_parquet('data/lake/");
    expect(shortest).not.toContain('--lake');
    for (const line of shortest.split('\n')) expect(line.length).toBeLessThan(80);
  }
  const ordered = summaryOf({ pipeline: 'transactions', rows: new Map([['order_transactions', 7]]) });
  expect(nextSteps({ ...report, summaries: [ordered] }, folders)).toContain('count(*) FROM order_transactions GROUP');
});

test('the warning of unknown amounts names a question that lists them', () => {
  const [, question] = /`ask ([\w-]+)`/.exec(warningTexts['unknownPaths'] ?? '') ?? [];
  expect(questionNames).toContain(question);
});
