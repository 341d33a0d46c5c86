import type { Clock } from '../../core/clock.js';
import type { Ledger } from '../../serve/http/ledger.js';
import type { FaultRequest, Faults } from './faults.js';
import { faultyLedger, unknownList } from './faulty-ledger.js';
import type { FaultKind } from './kinds.js';
import { createRequestFaults, noFaults, type RequestFaults, type RequestNames } from './request-faults.js';
import { skewedClock } from './skewed-clock.js';
import { Strikes } from './strikes.js';

/** A service's surroundings, as its faults make them. */
export interface ServiceFaults {
  readonly clock: Clock;
  readonly ledger: Ledger;
  /** Lists that stand in every body of events, though the model doesn't have them. */
  readonly lists: readonly string[];
  /** What goes wrong with one request. */
  request(request: FaultRequest, names: RequestNames): RequestFaults;
}

export interface ServiceFaultOptions {
  readonly clock: Clock;
  readonly ledger: Ledger;
  /** Undefined: none. */
  readonly faults: Faults | undefined;
  readonly seed: number;
  readonly hit: (kind: FaultKind) => void;
  /** Whether the service has a sign-in. */
  readonly signIn: boolean;
}

/**
 * The one place where faults come into a service. Without faults everything is as it was given.
 * Throws a USAGE error for faults that can't be.
 */
export function createServiceFaults(options: ServiceFaultOptions): ServiceFaults {
  const { clock, ledger, faults, seed, hit, signIn } = options;
  if (faults === undefined) return { clock, ledger, lists: [], request: () => noFaults };
  const strikes = new Strikes({ faults, seed, now: () => clock.now(), hit, signIn });
  const minutes = (kind: 'clock-fast' | 'clock-slow') => (strikes.has(kind) ? strikes.amount(kind) : 0);
  return {
    clock: skewedClock(clock, (minutes('clock-fast') - minutes('clock-slow')) * 60_000),
    ledger: faultyLedger(ledger, strikes),
    lists: strikes.has('unknown-list') ? [unknownList] : [],
    request: createRequestFaults(strikes),
  };
}
