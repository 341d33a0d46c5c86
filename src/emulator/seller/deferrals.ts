import { dayMs } from '../../core/windows.js';
import { hash } from '../profiles/seeded-random.js';
import type { EventFacts } from './event-stream.js';

const salt = { isDeferred: 81, delay: 82 };

/** Of 16 sales so many are deferred until some days after their delivery. */
const deferredOf16 = 12;

/** How long before its release a deferred sale is posted, seconds. */
const delays = { least: 5 * 86_400, most: 9 * 86_400 };

/** The longest that a sale is deferred, milliseconds. */
export const longestDeferral = (delays.most / 86_400) * dayMs;

/** Why it is deferred: seven days after the delivery it is released. */
export const deferralReason = 'DD7';

/**
 * When a sale was posted that v0 shows on the day of its release; undefined: it was never deferred. It depends on the seed and
 * the event alone, so that it is the same whenever one asks. Milliseconds since 1970, a whole second.
 */
export function deferredSince(key: number, { ordinal, list, at }: EventFacts): number | undefined {
  if (list !== 'ShipmentEventList' || hash(key, ordinal, salt.isDeferred) >>> 28 >= deferredOf16) return undefined;
  const seconds = delays.least + (hash(key, ordinal, salt.delay) % (delays.most - delays.least + 1));
  return Math.floor(at / 1000) * 1000 - seconds * 1000;
}
