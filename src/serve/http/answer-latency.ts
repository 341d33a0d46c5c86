import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import { createHash } from 'node:crypto';

/** A number from 0 up to 1 that looks like chance and is the same for the same seed and words. */
export function draw(seed: number, ...words: readonly (string | number)[]): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ...words]))
    .digest();
  return digest.readUIntBE(0, 6) / 2 ** 48;
}

/** How long answers take, milliseconds: always the same, or evenly drawn. */
export type Latency = number | { readonly least: number; readonly most: number };

/**
 * Waits as long as the answer to a request takes, by the request's number; it ends early when the signal aborts.
 * Throws a USAGE error for a latency that can't be.
 */
export function createLatency(
  latency: Latency,
  seed: number,
  clock: Clock,
): (number: number, signal: AbortSignal) => Promise<void> {
  const { least, most } = typeof latency === 'number' ? { least: latency, most: latency } : latency;
  if (!(least >= 0 && most >= least && Number.isFinite(most))) {
    throw usageError(`The latency must be milliseconds from 0 on, the least before the most, not ${least} to ${most}`);
  }
  return async (number, signal) => {
    const ms = least + (most > least ? draw(seed, 'latency', number) * (most - least) : 0);
    if (ms === 0 || signal.aborted) return;
    await clock.sleep(ms, signal).catch((error: unknown) => {
      // The answer goes out at once then: whoever closes the service shouldn't wait for it.
      if (!signal.aborted) throw error;
    });
  };
}
