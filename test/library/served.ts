import type { EmulatorOptions } from '../emulator/emulator.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { systemClock } from '../../src/core/clock.js';
import { serving, temporaryFolder } from '../app/lake-run.js';

/** First instant of the ranges that are loaded: some days ago, as the library has the system's clock. */
export const from = new Date(Math.floor(Date.now() / 86_400_000 - 20) * 86_400_000);
/** The same for ranges of many slices. */
export const early = new Date(from.getTime() - 65 * 86_400_000);
/** Their end. */
export const to = new Date(from.getTime() + 12 * 86_400_000);

/** A service of its own for the test that runs, over a synthetic seller, without a quota; and what a run over it is given. */
export async function servedShop({ seed = 3, ...options }: Partial<EmulatorOptions> & { seed?: number } = {}) {
  const backend = createSeller({ seed, events: 3000, profile: 'edge-cases' }, systemClock);
  const endpoint = await serving({ backend, clock: systemClock, ...options });
  return { endpoint, account: 'shop', rate: 1000, burst: 1000, lake: await temporaryFolder() };
}
