import { expect } from 'vitest';
import { transactionsPipeline } from '../../../pipelines/transactions.js';
import type { Store } from '../../../src/lake/store/store.js';
import { clockAt } from '../../app/lake-run.js';
import { faultyStore, type Fault } from '../../lake/faulty-store.js';
import { contents, globbed, truthOf } from '../../lake/lake-truth.js';
import { memoryStore } from '../../lake/memory-store.js';
import { isClear } from '../../lake/scheduled-store.js';
import { changed, range, run, smallSeller, syncUntil, upstreamOf } from './small-run.js';

/** A lake before the run that a fault hits, and what an undisturbed run makes of it. */
export interface Trial {
  readonly run: (store: Store) => Promise<number>;
  readonly before: ReadonlyMap<string, Uint8Array>;
  readonly wanted: readonly string[];
  /** Calls of an undisturbed run. */
  readonly calls: number;
}

async function trialOf(trial: Trial['run'], before: ReadonlyMap<string, Uint8Array>): Promise<Trial> {
  const memory = memoryStore(before);
  const counting = faultyStore(memory, 0, 'refused');
  await trial(counting);
  return { run: trial, before, wanted: contents(memory.files), calls: counting.calls };
}

/** A first load into an empty place. */
export function firstLoad(): Promise<Trial> {
  const upstream = upstreamOf(smallSeller());
  return trialOf((store) => run(store, upstream), new Map());
}

/** Reading again, after the seller's events have changed, what a lake holds already. */
export async function refreshed(): Promise<Trial> {
  const memory = memoryStore();
  await run(memory, upstreamOf(smallSeller()));
  const upstream = upstreamOf(changed(smallSeller()));
  return trialOf((store) => run(store, upstream, true), memory.files);
}

/** A sync of transactions, of which some have been released since they were loaded. */
export async function released(): Promise<Trial> {
  const memory = memoryStore();
  const before = clockAt('2026-03-12T12:00:00Z');
  await run(memory, upstreamOf(smallSeller(), before), false, range, [transactionsPipeline]);
  const upstream = upstreamOf(smallSeller());
  const end = Date.UTC(2026, 2, 16);
  const over = { start: range.end, end };
  return trialOf((store) => run(store, upstream, true, over, [transactionsPipeline], syncUntil(end)), memory.files);
}

/**
 * A run whose call number `at` goes wrong, and one more with a store that works: the lake is then as if nothing had
 * happened. Returns the call that was hit, or undefined where the run made fewer.
 */
export async function survives(trial: Trial, at: number, fault: Fault): Promise<string | undefined> {
  const { before, wanted } = trial;
  const memory = memoryStore(before);
  const store = faultyStore(memory, at, fault);
  const failure: unknown = await trial.run(store).then(
    () => undefined,
    (error: unknown) => error,
  );
  const what = `${fault} at call ${at}: ${store.hit ?? 'none'}`;
  expect(failure === undefined || isClear(failure), `${what} ended the run with ${String(failure)}`).toBe(true);
  expect(truthOf(memory.files).faults, what).toEqual([]);
  // Its process is gone, which this test's isn't.
  for (const path of [...memory.files.keys()]) if (path.startsWith('_runs/')) memory.files.delete(path);

  await trial.run(memory);
  const { faults, counted } = truthOf(memory.files);
  expect(faults, what).toEqual([]);
  expect(contents(memory.files), what).toEqual(wanted);
  expect(globbed(memory.files), what).toEqual(counted);
  return store.hit;
}
