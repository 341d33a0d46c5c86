import type { Clock } from '../core/clock.js';
import { startService, type RunningService, type ServiceOptions } from '../serve/http/server.js';
import type { Faults } from './faults/fault-settings.js';
import { faultInjection } from './faults/fault-injector.js';
import { createSeller } from './seller/seller.js';

export interface EmulatorOptions extends Omit<ServiceOptions, 'injectFaults'> {
  /** How the service falls short of its specification; undefined: nowhere. */
  readonly faults?: Faults | undefined;
}

/**
 * Starts the service with faults of the live one.
 *
 * @throws LedgerlakeError USAGE for faults that can't be, and as `startService` does
 */
export async function startEmulator({ faults, ...options }: EmulatorOptions): Promise<RunningService> {
  return startService({ ...options, injectFaults: faults && faultInjection(faults) });
}

/** The synthetic seller behind the embedded service: about 20,000 events in 90 days. */
const embeddedSeller = { seed: 1, events: 20_000, profile: 'plausible' } as const;

/** Starts the upstream of a first run: the service over a synthetic seller, on loopback, unthrottled. */
export function startEmbeddedService(clock: Clock): Promise<RunningService> {
  return startService({ ledger: createSeller(embeddedSeller, clock), clock });
}
