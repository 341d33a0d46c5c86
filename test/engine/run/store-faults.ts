import { expect } from 'vitest';
import type { FinancesUpstream } from '../../../src/sources/finances/connect-finances.js';
import { faultyStore, type Fault } from '../../lake/faulty-store.js';
import { contents, globbed, truthOf } from '../../lake/lake-truth.js';
import { memoryStore } from '../../lake/memory-store.js';
import { isClear } from '../../lake/scheduled-store.js';
import { changed, run, smallSeller, upstreamOf } from './small-run.js';

/** A lake before the run that a fault hits, and what an undisturbed run makes of it. */
export interface Trial {
  readonly upstream: FinancesUpstream;
  readonly refresh: boolean;
  readonly before: ReadonlyMap<string, Uint8Array>;
  readonly wanted: readonly string[];
  /** Calls of an undisturbed run. */
  readonly calls: number;
}

async function trialOf(
  upstream: FinancesUpstream,
  refresh: boolean,
  before: ReadonlyMap<string, Uint8Array>,
): Promise<Trial> {
  const memory = memoryStore(before);
  const counting = faultyStore(memory, 0, 'refused');
  await run(counting, upstream, refresh);
  return { upstream, refresh, before, wanted: contents(memory.files), calls: counting.calls };
}

/** A first load into an empty place. */
export function firstLoad(): Promise<Trial> {
  return trialOf(upstreamOf(smallSeller()), false, new Map());
}

/** Reading again, after the seller's events have changed, what a lake holds already. */
export async function refreshed(): Promise<Trial> {
  const memory = memoryStore();
  await run(memory, upstreamOf(smallSeller()));
  return trialOf(upstreamOf(changed(smallSeller())), true, memory.files);
}

/**
 * A run whose call number `at` goes wrong, and one more with a store that works: the lake is then as if nothing had
 * happened. Returns the call that was hit, or undefined where the run made fewer.
 */
export async function survives(trial: Trial, at: number, fault: Fault): Promise<string | undefined> {
  const { upstream, refresh, before, wanted } = trial;
  const memory = memoryStore(before);
  const store = faultyStore(memory, at, fault);
  const failure: unknown = await run(store, upstream, refresh).then(
    () => undefined,
    (error: unknown) => error,
  );
  const what = `${fault} at call ${at}: ${store.hit ?? 'none'}`;
  expect(failure === undefined || isClear(failure), `${what} ended the run with ${String(failure)}`).toBe(true);
  expect(truthOf(memory.files).faults, what).toEqual([]);
  // Its process is gone, which this test's isn't.
  for (const path of [...memory.files.keys()]) if (path.startsWith('_runs/')) memory.files.delete(path);

  await run(memory, upstream, refresh);
  const { faults, counted } = truthOf(memory.files);
  expect(faults, what).toEqual([]);
  expect(contents(memory.files), what).toEqual(wanted);
  expect(globbed(memory.files), what).toEqual(counted);
  return store.hit;
}
