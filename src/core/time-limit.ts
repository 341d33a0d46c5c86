import type { Clock } from './clock.js';
import { LedgerlakeError } from './errors.js';

/** The end of work that has taken too long. */
export class OutOfTime extends LedgerlakeError {
  constructor(limitMs: number) {
    super('STOPPED', `expected an answer within ${limitMs / 1000} s, got none`);
  }
}

/**
 * Does work that is stopped after `limitMs` milliseconds. Work that doesn't heed its signal is left behind.
 *
 * @throws OutOfTime; what the work throws; the signal's reason
 */
export async function withinLimit<T>(
  limitMs: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const [ended, late] = [new AbortController(), new AbortController()];
  const expire = async (): Promise<never> => {
    await clock.sleep(limitMs, AbortSignal.any([signal, ended.signal]));
    const error = new OutOfTime(limitMs);
    late.abort(error);
    throw error;
  };
  try {
    return await Promise.race([work(AbortSignal.any([signal, late.signal])), expire()]);
  } finally {
    ended.abort();
  }
}
