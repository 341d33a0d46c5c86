import { describe, expect, test } from 'vitest';
import {
  acquireExclusiveLease,
  acquireLease,
  leasePath,
  otherLeases,
  type LeasedLake,
  type RunLease,
} from '../../src/lake/leases.js';
import type { Store } from '../../src/lake/store/store.js';
import { HandClock } from '../core/clock.js';
import { memoryStore, watched } from './memory-store.js';

/** Ends a run that has cleared up. */
function released(lease: RunLease): Promise<void> {
  lease.cleared();
  return lease.release();
}

const clock = () => new HandClock('2025-06-01T00:00:00Z');

let runs = 0;
/** The lake as another run has it. */
function run(store: Store): LeasedLake {
  return { store, run: `0-${runs++}` };
}

describe('a run with an exclusive lease', () => {
  test('refuses to begin while another is at work, and leaves no lease then', async () => {
    const store = memoryStore();
    const lease = await acquireLease(run(store), clock());
    await expect(acquireExclusiveLease(run(store), clock())).rejects.toMatchObject({ code: 'LAKE_CONFLICT' });
    expect(store.files.size).toBe(1);
    await released(lease);
    await released(await acquireExclusiveLease(run(store), clock()));
    expect(store.files.size).toBe(0);
  });

  test('keeps every other from beginning until it ends', async () => {
    const store = memoryStore();
    const lease = await acquireExclusiveLease(run(store), clock());
    await expect(acquireLease(run(store), clock())).rejects.toThrow(/got a run that needs exclusive access/);
    await expect(acquireExclusiveLease(run(store), clock())).rejects.toMatchObject({ code: 'LAKE_CONFLICT' });
    await lease.release();
    await (await acquireLease(run(store), clock())).release();
  });

  test('of two that begin at once never goes on beside the other', async () => {
    const store = memoryStore();
    const begun = await Promise.allSettled([
      acquireExclusiveLease(run(store), clock()),
      acquireLease(run(store), clock()),
    ]);
    expect(begun.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
  });

  test('takes its lease back where it can’t learn who else is at work', async () => {
    const store = memoryStore();
    const blind = watched(store, {
      before: ({ method }) => {
        if (method === 'list') throw new Error('no list');
      },
    });
    await expect(acquireExclusiveLease(run(blind), clock())).rejects.toThrow('no list');
    expect(store.files.size).toBe(0);
  });
});

test('runs beside each other see each other', async () => {
  const store = memoryStore();
  const one = await acquireLease(run(store), clock());
  const other = await acquireLease(run(store), clock());
  expect(await otherLeases(store, one.id, clock())).toMatchObject({
    active: [{}],
    activeRuns: new Set([other.id]),
    dead: [],
  });
  await released(other);
  expect(await otherLeases(store, one.id, clock())).toEqual({ active: [], activeRuns: new Set(), dead: [] });
  await one.release();
});

test('a run that ends without having cleared up leaves word of that, and is in nobody’s way', async () => {
  const store = memoryStore();
  const failed = await acquireLease(run(store), clock());
  await failed.release();
  const next = await acquireExclusiveLease(run(store), clock());
  const { active, dead } = await otherLeases(store, next.id, clock());
  expect(active).toEqual([]);
  expect(dead.map(({ path }) => path)).toEqual([leasePath(failed.id)]);
});

test.each<[string, Record<string, unknown>]>([
  ['from a day in the future', { renewedAt: Date.UTC(2025, 5, 3) }],
  ['with an instant that no date has', { startedAt: 1e300 }],
  ['with a pid that is a text', { pid: 'x' }],
  ['without a host', { host: null }],
])('a lease %s is nobody’s', async (_, wrong) => {
  const store = memoryStore();
  const now = Date.UTC(2025, 5, 1);
  const lease = { host: 'h', machine: 'elsewhere', pid: 1, start: 's', startedAt: now, renewedAt: now };
  store.files.set(leasePath('whole'), Buffer.from(JSON.stringify(lease)));
  store.files.set(leasePath('wrong'), Buffer.from(JSON.stringify({ ...lease, ...wrong })));
  const { active, dead } = await otherLeases(store, undefined, clock());
  expect([active.length, dead.map(({ path }) => path)]).toEqual([1, [leasePath('wrong')]]);
});
