import { faultInjection } from '../../src/emulator/emulator.js';
import type { Faults } from '../../src/emulator/faults/fault-settings.js';
import { startApiServer, type RunningApiServer, type ApiServerOptions } from '../../src/serve/http/server.js';

export interface EmulatorOptions extends Omit<ApiServerOptions, 'injectFaults'> {
  /** Deviations from the specification; undefined: none. */
  readonly faults?: Faults | undefined;
}

/**
 * Starts the service with faults of the live one.
 *
 * @throws LedgerlakeError USAGE for faults that are invalid, and as `startApiServer`
 */
export async function startEmulator({ faults, ...options }: EmulatorOptions): Promise<RunningApiServer> {
  return startApiServer({ ...options, injectFaults: faults && faultInjection(faults) });
}
