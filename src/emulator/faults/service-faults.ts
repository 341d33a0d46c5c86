import type { FaultInjection } from '../../serve/http/fault-injection.js';
import type { Faults } from './fault-settings.js';
import { faultyLedger, unknownList } from './faulty-ledger.js';
import { createRequestFaults } from './request-faults.js';
import { skewedClock } from './skewed-clock.js';
import { Strikes } from './fault-injector.js';

/**
 * The injection of the given faults into a service. It throws a USAGE error for faults that can't be.
 */
export function faultInjection(faults: Faults): FaultInjection {
  return ({ clock, ledger, seed, hit, signIn }) => {
    const strikes = new Strikes({ faults, seed, now: () => clock.now(), hit, signIn });
    const minutes = (kind: 'clock-fast' | 'clock-slow') => (strikes.has(kind) ? strikes.amount(kind) : 0);
    return {
      clock: skewedClock(clock, (minutes('clock-fast') - minutes('clock-slow')) * 60_000),
      ledger: faultyLedger(ledger, strikes),
      lists: strikes.has('unknown-list') ? [unknownList] : [],
      request: createRequestFaults(strikes),
    };
  };
}
