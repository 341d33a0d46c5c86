import { noRevisions } from '../../lake/small-table.js';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { choosePipelines } from '../../../src/app/configuration/chosen-pipelines.js';
import { systemClock } from '../../../src/core/clock.js';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { runPipelines } from '../../../src/engine/run/runner.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { noUpstream } from '../../../src/sources/finances/connect-finances.js';
import { clock, range, smallSeller, upstreamOf } from './small-run.js';
import { temporaryFolder } from '../../app/lake-run.js';

/** Loads events by date on a store, as fast as a service of one request a second and slice allows. */
async function loaded(store: Store, tell: (event: RunEvent) => void, signal = new AbortController().signal) {
  const { v0 } = upstreamOf(smallSeller());
  return runPipelines(choosePipelines(['financial-events'], false), {
    job: {
      kind: 'backfill',
      account: 'shop',
      range,
      lake: await Lake.open(store, tables, clock),
      refresh: false,
      orders: [],
    },
    upstream: { ...noUpstream, v0: { ...v0, pace: () => ({ rate: 1, burst: 10, level: 5, latency: 0.1 }) } },
    clock: systemClock,
    signal,
    emit: tell,
    openSlices: 4,
    revisions: noRevisions,
  });
}

test('told to stop during a commit, a run ends behind it, with the slice in the lake and the others as they were', async () => {
  const store = openStore(await temporaryFolder(), { clock });
  const stop = new AbortController();
  const commits = { begun: 0, ended: 0 };
  const slow: Store = {
    ...store,
    create: async (path, bytes) => {
      commits.begun++;
      stop.abort(new Error('enough'));
      await delay(200);
      const created = await store.create(path, bytes);
      commits.ended++;
      return created;
    },
  };
  const told: string[] = [];
  const { summaries, failure } = await loaded(slow, ({ event }) => told.push(event), stop.signal);
  expect(failure).toEqual(new Error('enough'));
  expect(commits.ended).toBe(commits.begun);
  expect(commits.begun).toBeGreaterThan(0);
  expect(summaries[0]?.slices).toBe(1);
  expect(told.filter((event) => event === 'slice-committed')).toHaveLength(1);
  expect(told).not.toContain('pipeline-ended');
  const lake = await Lake.open(store, tables, clock);
  expect(lake.snapshot.keysOf('shop', 'financial-events').size).toBe(1);
});

test('a commit that fails ends the run with its error, and nothing further is opened', async () => {
  const store = openStore(await temporaryFolder(), { clock });
  const failure = new Error('the disk is gone');
  const openedOn = async (on: Store) => {
    const told: RunEvent[] = [];
    const { failure: thrown, summaries } = await loaded(on, (event) => told.push(event));
    return {
      thrown,
      slices: summaries[0]?.slices,
      opened: told.filter(({ event }) => event === 'slice-opened').length,
    };
  };
  const broken = await openedOn({ ...store, create: () => Promise.reject(failure) });
  expect(broken).toMatchObject({ thrown: failure, slices: 0 });
  expect((await openedOn(store)).opened).toBeGreaterThan(broken.opened);
});
