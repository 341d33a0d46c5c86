import { expect, test, vi } from 'vitest';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { systemClock } from '../../../src/core/clock.js';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { runPipelines } from '../../../src/engine/run/runner.js';
import { listQueue } from '../../../src/engine/run/slice-queue.js';
import { windowSlice, type WindowSlice } from '../../../src/engine/slicing/window-slices.js';
import { Lake } from '../../../src/lake/lake.js';
import type { SliceReplacement } from '../../../src/lake/slices/slice-replacement.js';
import type { Revisions } from '../../../src/lake/slices/slice-writer.js';
import type { Store } from '../../../src/lake/store/store.js';
import { scanPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import { noUpstream } from '../../../src/sources/finances/connect-finances.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { windowSubject } from '../../../src/sources/finances/model/slice-rows.js';
import { shipment } from '../../app/maintenance/small-lake.js';
import { noRevisions } from '../../lake/small-table.js';
import { memoryStore } from '../../lake/memory-store.js';

const dayMs = 86_400_000;

/** A first slice loads the encoder, which takes seconds on a busy machine. */
const patience = { timeout: 20_000 };

function day(number: number): WindowSlice {
  const start = Date.UTC(2026, 0, number);
  return windowSlice({ start, end: start + dayMs });
}

interface Played {
  readonly lake: Lake;
  readonly days: readonly number[];
  readonly refresh?: boolean;
  readonly signal?: AbortSignal;
  readonly revisions?: Revisions;
  /** Called before a day's page is received. */
  readonly page?: (number: number) => Promise<void>;
}

/** Loads days of one shipment each, four at a time; the events of the run. */
async function played({ lake, days, refresh = false, revisions = noRevisions, page, ...given }: Played) {
  const { signal = new AbortController().signal } = given;
  const events: RunEvent[] = [];
  const slices = days.map(day);
  const pipeline = {
    ...financialEvents,
    slicing: {
      ...financialEvents.slicing,
      sliceQueue: () => listQueue(slices.splice(0), 'window', ({ window }) => window),
    },
    pages: async function* ({ window }: WindowSlice) {
      const number = new Date(window.start).getUTCDate();
      await page?.(number);
      const json = shipment(new Date(window.start + 60_000).toISOString(), `order-${number}`);
      const body = Buffer.from(`{"payload":{"FinancialEvents":{"ShipmentEventList":[${json}]}}}`);
      yield { page: scanPage(body), subject: windowSubject(window) };
    },
  };
  const { failure } = await runPipelines([pipeline], {
    job: { kind: 'backfill', account: 'shop', range: { start: 0, end: 1 }, lake, refresh, orders: [] },
    upstream: noUpstream,
    clock: systemClock,
    signal,
    openSlices: 4,
    revisions,
    emit: (event) => events.push(event),
  });
  return { failure, events };
}

/** Rejects when a signal aborts, as a request does. */
function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
}

/** A store that creates commits of the catalog only when it is told to. */
function gatedStore(): { readonly store: Store; readonly waiting: () => number; readonly open: () => void } {
  const inner = memoryStore();
  const gates: (() => void)[] = [];
  let isOpen = false;
  const store: Store = {
    ...inner,
    create: async (path, bytes, after) => {
      if (!isOpen && path.startsWith('_catalog/')) await new Promise<void>((resolve) => gates.push(resolve));
      return inner.create(path, bytes, after);
    },
  };
  const open = () => {
    isOpen = true;
    for (const gate of gates.splice(0)) gate();
  };
  return { store, waiting: () => gates.length, open };
}

async function keysBy(lake: Lake): Promise<number[]> {
  await lake.refresh();
  const versions = [...lake.snapshot.keysOf('shop', 'financial-events').values()].map(({ version }) => version);
  return [...new Set(versions)].map((version) => versions.filter((one) => one === version).length);
}

test('slices that are ready while a commit is on its way become one commit', async () => {
  const { store, waiting, open } = gatedStore();
  const ready = { days: 0 };
  const lake = await Lake.open(store, tables, systemClock);
  const running = played({
    lake,
    days: [1, 2, 3, 4],
    page: () => {
      ready.days++;
      return Promise.resolve();
    },
  });
  await vi.waitFor(() => {
    expect([ready.days, waiting()]).toEqual([4, 1]);
  }, patience);
  // The files of all four are written meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 200));
  open();
  const { failure, events } = await running;
  expect(failure).toBeUndefined();
  // The first one may be alone: it is claimed when it is ready.
  const keys = await keysBy(lake);
  expect(keys.reduce((sum, count) => sum + count, 0)).toBe(4);
  expect(keys.length).toBeLessThanOrEqual(2);
  expect(events.filter(({ event }) => event === 'slice-committed')).toHaveLength(4);
});

test('a slice that is new waits for the commits of those that are read again', async () => {
  const lake = await Lake.open(memoryStore(), tables, systemClock);
  await played({ lake, days: [1, 2] });
  const order: string[] = [];
  const compare = async ({ slice }: SliceReplacement) => {
    const [key = ''] = slice.loadKeys;
    const number = new Date(key.split('/')[1] ?? '').getUTCDate();
    order.push(`begins ${number}`);
    if (number < 3) await new Promise((resolve) => setTimeout(resolve, 50));
    return { history: [], committed: () => void order.push(`ends ${number}`) };
  };
  const again = await played({ lake, days: [1, 2, 3, 4], refresh: true, revisions: { compare } });
  expect(again.failure).toBeUndefined();
  expect(order.slice(0, 4).map((line) => line.split(' ')[0])).toEqual(['begins', 'ends', 'begins', 'ends']);
  expect(order.slice(4).toSorted()).toEqual(['begins 3', 'begins 4', 'ends 3', 'ends 4']);
});

test('a run that is stopped ends once what is complete is committed, and a commit that fails ends the others alike', async () => {
  const stopping = new AbortController();
  const { store, waiting, open } = gatedStore();
  const lake = await Lake.open(store, tables, systemClock);
  let hasEnded = false;
  const running = played({
    lake,
    days: [1, 2, 3, 4],
    signal: stopping.signal,
    // The last one doesn't come before the stop.
    page: (number) => (number === 4 ? stopped(stopping.signal) : Promise.resolve()),
  }).finally(() => (hasEnded = true));
  await vi.waitFor(() => {
    expect(waiting()).toBe(1);
  }, patience);
  await new Promise((resolve) => setTimeout(resolve, 200));
  stopping.abort(new Error('stopped'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(hasEnded).toBe(false);
  open();
  expect((await running).failure).toMatchObject({ message: 'stopped' });
  expect([...lake.snapshot.keysOf('shop', 'financial-events').keys()]).toHaveLength(3);

  let creations = 0;
  const failing = memoryStore();
  const dying: Store = {
    ...failing,
    create: (path, bytes, after) =>
      path.startsWith('_catalog/') && ++creations > 2
        ? Promise.reject(new Error('the store is gone'))
        : failing.create(path, bytes, after),
  };
  const second = await Lake.open(dying, tables, systemClock);
  const { failure, events } = await played({ lake: second, days: [1, 2, 3, 4, 5, 6, 7, 8] });
  expect(failure).toMatchObject({ message: 'the store is gone' });
  const committed = events.filter(({ event }) => event === 'slice-committed').length;
  const whole = await Lake.open(failing, tables, systemClock);
  expect(whole.snapshot.keysOf('shop', 'financial-events').size).toBe(committed);
  // What was not committed is in no folder.
  const files = [...failing.files.keys()].filter((path) => path.startsWith('events/account='));
  expect(files).toHaveLength(committed);
});
