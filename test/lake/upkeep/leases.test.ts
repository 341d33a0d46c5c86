import { describe, expect, test } from 'vitest';
import {
  acquireExclusiveLease,
  acquireLease,
  leasePath,
  otherLeases,
  type RunLease,
} from '../../../src/lake/upkeep/leases.js';
import { HandClock } from '../../core/clock.js';
import { memoryStore, watched } from '../memory-store.js';

/** Ends a run that has cleared up. */
function released(lease: RunLease): Promise<void> {
  lease.cleared();
  return lease.release();
}

const clock = () => new HandClock('2025-06-01T00:00:00Z');

describe('a run that must be alone on the lake', () => {
  test('refuses to begin while another is at work, and leaves no lease then', async () => {
    const store = memoryStore();
    const lease = await acquireLease(store, clock());
    await expect(acquireExclusiveLease(store, clock())).rejects.toMatchObject({ code: 'LAKE_CONFLICT' });
    expect(store.files.size).toBe(1);
    await released(lease);
    await released(await acquireExclusiveLease(store, clock()));
    expect(store.files.size).toBe(0);
  });

  test('keeps every other from beginning until it ends', async () => {
    const store = memoryStore();
    const lease = await acquireExclusiveLease(store, clock());
    await expect(acquireLease(store, clock())).rejects.toThrow(/got a run that needs exclusive access/);
    await expect(acquireExclusiveLease(store, clock())).rejects.toMatchObject({ code: 'LAKE_CONFLICT' });
    await lease.release();
    await (await acquireLease(store, clock())).release();
  });

  test('of two that begin at once never goes on beside the other', async () => {
    const store = memoryStore();
    const begun = await Promise.allSettled([acquireExclusiveLease(store, clock()), acquireLease(store, clock())]);
    expect(begun.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
  });

  test('takes its lease back where it can’t learn who else is at work', async () => {
    const store = memoryStore();
    const blind = watched(store, {
      before: ({ method }) => {
        if (method === 'list') throw new Error('no list');
      },
    });
    await expect(acquireExclusiveLease(blind, clock())).rejects.toThrow('no list');
    expect(store.files.size).toBe(0);
  });
});

test('runs beside each other see each other', async () => {
  const store = memoryStore();
  const one = await acquireLease(store, clock());
  const other = await acquireLease(store, clock());
  expect(await otherLeases(store, one.id, clock())).toMatchObject({ living: [{}], dead: [] });
  await released(other);
  expect(await otherLeases(store, one.id, clock())).toEqual({ living: [], dead: [] });
  await one.release();
});

test('a run that ends without having cleared up leaves word of that, and is in nobody’s way', async () => {
  const store = memoryStore();
  const failed = await acquireLease(store, clock());
  await failed.release();
  const next = await acquireExclusiveLease(store, clock());
  const { living, dead } = await otherLeases(store, next.id, clock());
  expect(living).toEqual([]);
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
  const { living, dead } = await otherLeases(store, undefined, clock());
  expect([living.length, dead.map(({ path }) => path)]).toEqual([1, [leasePath('wrong')]]);
});
