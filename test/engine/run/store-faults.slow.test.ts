import { describe, expect, test } from 'vitest';
import { faults } from '../../lake/faulty-store.js';
import { hashesOf } from '../../lake/hashes-of.js';
import { globbed, truthOf } from '../../lake/lake-truth.js';
import { memoryStore } from '../../lake/memory-store.js';
import { run, smallSeller, upstreamOf } from './small-run.js';
import { firstLoad, refreshed, released, survives } from './store-faults.js';

/** Every so many calls one is tried; `make torture` tries all of them. */
const step = 29;

describe.each([
  ['a first load', firstLoad],
  ['a refresh of what has changed', refreshed],
  ['a sync of transactions that have been released', released],
])('%s', (_name, begin) => {
  test.each(faults)('comes out whole when a call to the store is %s', async (fault) => {
    const trial = await begin();
    let hits = 0;
    for (let at = 1 + faults.indexOf(fault); at <= trial.calls; at += step) {
      if ((await survives(trial, at, fault)) !== undefined) hits++;
    }
    expect(hits).toBeGreaterThan(2);
  });
});

test('the same range a second time sends no request and changes no byte', async () => {
  const memory = memoryStore();
  const upstream = upstreamOf(smallSeller());
  expect(await run(memory, upstream)).toBeGreaterThan(5);
  const before = new Map(memory.files);
  expect(globbed(before)).toEqual(truthOf(before).counted);
  expect(await run(memory, upstream)).toBe(0);
  expect(hashesOf(memory.files)).toEqual(hashesOf(before));
});
