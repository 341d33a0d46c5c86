import type { Clock } from '../core/clock.js';
import type { FaultInjection } from '../serve/http/fault-injection.js';
import { startApiServer, type RunningApiServer } from '../serve/http/server.js';
import { FaultInjector } from './faults/fault-injector.js';
import type { Faults } from './faults/fault-settings.js';
import { unknownList, faultyEvents } from './faults/faulty-events.js';
import { createRequestFaults } from './faults/request-faults.js';
import { createSeller } from './seller/seller.js';
import type { Backend } from '../serve/served-apis.js';
import { faultyReports } from './faults/faulty-reports.js';
import { faultyTransactions } from './faults/faulty-transactions.js';

/** A backend with the live service's worst behaviour, API by API; without faults of items it stays as it is. */
export function faultyBackend(backend: Backend, injector: FaultInjector): Backend {
  if (!injector.changesItems) return backend;
  const { byTransaction, byReport } = backend;
  return {
    ...backend,
    ...faultyEvents(backend, injector),
    byTransaction: byTransaction && faultyTransactions(byTransaction, injector),
    byReport: byReport && faultyReports(byReport, injector),
  };
}

/** Starts the upstream of a first run: the service over a synthetic seller, on loopback, without throttling. */
export function startEmbeddedService(clock: Clock): Promise<RunningApiServer> {
  return startApiServer({ backend: createSeller({ seed: 1, events: 20_000, profile: 'plausible' }, clock), clock });
}

/**
 * The fault injection for a server with these faults.
 *
 * @throws LedgerlakeError USAGE for faults that are invalid
 */
export function faultInjection(faults: Faults): FaultInjection {
  return (server) => {
    const { clock, backend } = server;
    const injector = new FaultInjector({ ...server, faults });
    const minutes = (kind: 'clock-fast' | 'clock-slow') => (injector.has(kind) ? injector.amount(kind) : 0);
    const offsetMs = (minutes('clock-fast') - minutes('clock-slow')) * 60_000;
    return {
      // The time is shifted, and passes at the usual speed.
      clock: { now: () => clock.now() + offsetMs, sleep: (ms, signal) => clock.sleep(ms, signal) },
      backend: faultyBackend(backend, injector),
      lists: injector.has('unknown-list') ? [unknownList] : [],
      request: createRequestFaults(injector),
    };
  };
}
