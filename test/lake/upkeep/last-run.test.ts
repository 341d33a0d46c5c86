import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { noteRun } from '../../../src/app/load/run-summary.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { newestRun, readLastRuns, writeLastRun, type LastRun } from '../../../src/lake/upkeep/last-run.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ledgerlake-note-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

const run: LastRun = {
  command: 'backfill',
  status: 'failed',
  startedAt: '2025-03-08T00:05:00.000Z',
  endedAt: '2025-03-08T00:06:00.000Z',
  account: 'shop',
  from: '2025-03-01T00:00:00.000Z',
  to: '2025-03-08T00:00:00.000Z',
  endpoint: null,
  failure: 'the upstream is gone',
  pipelines: {
    'financial-events': { slices: 1, requests: 2, files: 2, bytes: 3000, rows: { events: 7, entries: 14 } },
  },
};

test('of each account the last run is read as it was written, the newest one at the end', async () => {
  const store = diskStore(root);
  expect(await readLastRuns(store)).toEqual(new Map());
  const later = { ...run, status: 'done', failure: null, endedAt: '2025-03-09T00:00:00.000Z' } as const;
  const other = { ...run, account: 'other', endedAt: '2025-03-08T12:00:00.000Z' };
  await writeLastRun(store, run);
  await writeLastRun(store, other);
  expect([...(await readLastRuns(store)).values()]).toEqual([run, other]);
  await writeLastRun(store, later);
  const runs = await readLastRuns(store);
  expect([...runs]).toEqual([
    ['other', other],
    ['shop', later],
  ]);
  expect(newestRun(runs)).toEqual(later);
});

test.each([
  ['no JSON', '{"status"'],
  ['no object', '[]'],
  ['another status', JSON.stringify({ ...run, status: 'running' })],
  ['no instant', JSON.stringify({ ...run, endedAt: 'yesterday' })],
  ['the name of another account', JSON.stringify({ ...run, account: 'other' })],
  ['odd pipelines', JSON.stringify({ ...run, pipelines: { 'financial-events': { slices: '1' } } })],
])('a note with %s is as good as none', async (_name, text) => {
  const store = diskStore(root);
  await store.write('_last-run/shop.json', Buffer.from(text));
  expect(await readLastRuns(store)).toEqual(new Map());
});

const summary = {
  pipeline: 'financial-events',
  slices: 1,
  conflicts: 0,
  requests: 2,
  retries: 0,
  throttled: 0,
  pages: 2,
  rows: new Map([['events', 7]]),
  files: 2,
  bytes: 3000,
  seconds: 1,
  warnings: new Map(),
  leftOpen: [],
};
const report = {
  account: 'shop',
  run: '0b8f1c2e-5d0c-4e9f-8a52-6a1e2f7b9c30',
  range: { start: Date.parse(run.from), end: Date.parse(run.to) },
  lake: 'data/lake',
  seconds: 60,
  summaries: [summary],
  failure: new Error('the upstream is gone'),
  catalog: null,
};
const note = { command: 'backfill', startedAt: Date.parse(run.startedAt), endedAt: Date.parse(run.endedAt) };

test('a note holds no password', async () => {
  const store = diskStore(root);
  await noteRun(
    store,
    report,
    { ...note, requested: [], endpoint: 'https://user:secret@host:8080/prefix/' },
    plainLog(expect.unreachable),
  );
  expect((await readLastRuns(store)).get('shop')).toMatchObject({
    endpoint: 'https://host:8080/prefix',
    failure: run.failure,
  });
  expect(Buffer.from((await store.read('_last-run/shop.json')) ?? []).toString()).not.toMatch(/user|secret/);
});

test('a lake that cannot take the note is told of, and the run goes on', async () => {
  const full = {
    ...diskStore(root),
    write: () => Promise.reject(new LedgerlakeError('LAKE_STORE', 'no space left on the disk')),
  };
  const lines: string[] = [];
  await noteRun(
    full,
    report,
    { ...note, requested: [], endpoint: undefined },
    plainLog((line) => lines.push(line)),
  );
  expect(lines).toEqual(['the note for `ledgerlake status` could not be written: no space left on the disk']);
});
