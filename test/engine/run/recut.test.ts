import { noRevisions } from '../../lake/small-table.js';
import { expect, test } from 'vitest';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { choosePipelines } from '../../../src/app/configuration/chosen-pipelines.js';
import { runPipelines } from '../../../src/engine/run/runner.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { noUpstream } from '../../../src/sources/finances/connect-finances.js';
import { clock, upstreamOf } from './small-run.js';
import { temporaryFolder } from '../../app/lake-run.js';

test('a first slice that holds far more than a chain of pages may have is given up after a page, and cut anew', async () => {
  const folder = await temporaryFolder();
  const seller = createSeller({ seed: 4, events: 16_000, days: 10, profile: 'edge-cases' }, clock);
  const range = { start: Date.UTC(2026, 2, 10), end: Date.UTC(2026, 2, 20) };
  const { items } = await seller.events(
    { start: range.start, end: range.end },
    { cursor: undefined, limit: 1e6, asOf: clock.now() },
  );
  expect(items.length).toBeGreaterThan(13_500);

  const told: string[] = [];
  const { summaries, failure } = await runPipelines(choosePipelines(['financial-events'], false), {
    job: {
      kind: 'backfill',
      account: 'shop',
      range,
      lake: await Lake.open(openStore(folder, { clock }), tables, clock),
      refresh: false,
      orders: [],
    },
    upstream: {
      ...noUpstream,
      v0: { ...upstreamOf(seller).v0, pace: () => ({ rate: 50, burst: 1000, level: 500, latency: 0.01 }) },
    },
    clock,
    signal: new AbortController().signal,
    emit: (event) => {
      if (event.event === 'slice-failed') told.push(`${event.slice} ${event.verdict}: ${event.reason}`);
    },
    openSlices: 4,
    revisions: noRevisions,
  });
  expect(failure).toBeUndefined();
  expect(told).toEqual([
    '2026-03-10T00:00:00.000Z/2026-03-20T00:00:00.000Z split: it has far more results than expected',
  ]);
  const [summary] = summaries;
  expect(summary?.slices).toBeGreaterThan(1);
  expect(summary?.rows.get('events')).toBe(items.length);
  // A page is read twice, and the last of each slice is not full.
  expect(summary?.requests).toBeLessThanOrEqual(Math.ceil(items.length / 100) + 1 + (summary?.slices ?? 0));
});
