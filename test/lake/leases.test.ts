import { describe, expect, test } from 'vitest';
import { holdLakeAlone, holdLease, otherLeases } from '../../src/lake/leases.js';
import { HandClock } from '../clock.js';
import { memoryStore, watched } from './memory-store.js';

const clock = () => new HandClock('2025-06-01T00:00:00Z');

describe('a run that must be alone on the lake', () => {
  test('refuses to begin while another is at work, and leaves no lease then', async () => {
    const store = memoryStore();
    const lease = await holdLease(store, clock());
    await expect(holdLakeAlone(store, clock())).rejects.toMatchObject({ code: 'LAKE_CONFLICT' });
    expect(store.files.size).toBe(1);
    await lease.release();
    await (await holdLakeAlone(store, clock())).release();
    expect(store.files.size).toBe(0);
  });

  test('keeps every other from beginning until it ends', async () => {
    const store = memoryStore();
    const lease = await holdLakeAlone(store, clock());
    await expect(holdLease(store, clock())).rejects.toThrow(/a run that must be alone on it is at work/);
    await expect(holdLakeAlone(store, clock())).rejects.toMatchObject({ code: 'LAKE_CONFLICT' });
    await lease.release();
    await (await holdLease(store, clock())).release();
  });

  test('of two that begin at once never goes on beside the other', async () => {
    const store = memoryStore();
    const begun = await Promise.allSettled([holdLakeAlone(store, clock()), holdLease(store, clock())]);
    expect(begun.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
  });

  test('takes its lease back where it can’t learn who else is at work', async () => {
    const store = memoryStore();
    const blind = watched(store, {
      before: ({ method }) => {
        if (method === 'list') throw new Error('no list');
      },
    });
    await expect(holdLakeAlone(blind, clock())).rejects.toThrow('no list');
    expect(store.files.size).toBe(0);
  });
});

test('runs beside each other see each other', async () => {
  const store = memoryStore();
  const one = await holdLease(store, clock());
  const other = await holdLease(store, clock());
  expect(await otherLeases(store, one.id, clock())).toHaveLength(1);
  await other.release();
  expect(await otherLeases(store, one.id, clock())).toEqual([]);
  await one.release();
});
