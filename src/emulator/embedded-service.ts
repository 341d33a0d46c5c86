import type { Clock } from '../core/clock.js';
import { startService, type RunningService } from '../serve/http/server.js';
import { createSeller } from './seller/seller.js';

/** The made-up seller behind the embedded service: about 20,000 events in 90 days. */
const embeddedSeller = { seed: 1, events: 20_000 };

/** Starts the upstream of a first run: the service over a made-up seller, on loopback, unthrottled. */
export function startEmbeddedService(clock: Clock): Promise<RunningService> {
  return startService({ ledger: createSeller(embeddedSeller, clock), clock });
}
