import type { Clock } from '../../core/clock.js';
import type { FaultInjection } from '../../serve/http/fault-injection.js';
import { FaultInjector } from './fault-injector.js';
import type { Faults } from './fault-settings.js';
import { faultyLedger, unknownList } from './faulty-ledger.js';
import { createRequestFaults } from './request-faults.js';

/** A clock that is off by so many milliseconds; its sleep is as long as any. */
function skewedClock(clock: Clock, offsetMs: number): Clock {
  if (offsetMs === 0) return clock;
  return { now: () => clock.now() + offsetMs, sleep: (ms, signal) => clock.sleep(ms, signal) };
}

/**
 * The injection of the given faults into a service. It throws a USAGE error for faults that can't be.
 */
export function faultInjection(faults: Faults): FaultInjection {
  return ({ clock, ledger, seed, hit, signIn }) => {
    const injector = new FaultInjector({ faults, seed, now: () => clock.now(), hit, signIn });
    const minutes = (kind: 'clock-fast' | 'clock-slow') => (injector.has(kind) ? injector.amount(kind) : 0);
    return {
      clock: skewedClock(clock, (minutes('clock-fast') - minutes('clock-slow')) * 60_000),
      ledger: faultyLedger(ledger, injector),
      lists: injector.has('unknown-list') ? [unknownList] : [],
      request: createRequestFaults(injector),
    };
  };
}
