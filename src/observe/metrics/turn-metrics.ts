import type { Handlers } from '../../core/events/handlers.js';

/** A metric that counts up, and one that is set; without labels where none are named. */
export interface Counted {
  inc(labels: Readonly<Record<string, string>>, by?: number): void;
}
export interface Measured {
  set(labels: Readonly<Record<string, string>>, value: number): void;
}

export interface MetricKinds {
  readonly counter: (name: string, help: string, labelNames?: readonly string[]) => Counted;
  readonly gauge: (name: string, help: string, labelNames?: readonly string[]) => Measured;
}

/** Metrics of a worker, without names of accounts: there may be thousands. */
export function turnMetrics({ counter, gauge }: MetricKinds): Handlers<void> {
  const turns = counter('turns_total', 'Turns that have ended, by how', ['work', 'end']);
  const requests = counter('turn_requests_total', 'Requests that turns have sent to the service');
  const throttles = counter('turn_throttles_total', 'Requests of turns that the service throttled');
  const slices = counter('turn_slices_total', 'Slices that turns have committed');
  const seconds = counter('turn_seconds_total', 'How long turns lasted', ['work']);
  const open = gauge('open_turns', 'Turns under way in this worker');
  const queue = gauge('queue_accounts', 'Accounts in the queue of the fleet, all workers together', ['state']);
  const connected = gauge('queue_connected', '1 while there is a connection to Redis, else 0');
  let under = 0;
  open.set({}, 0);
  connected.set({}, 1);
  return {
    'turn-started': () => {
      open.set({}, ++under);
    },
    'turn-ended': (turn) => {
      open.set({}, --under);
      turns.inc({ work: turn.work, end: turn.end });
      seconds.inc({ work: turn.work }, turn.seconds);
      requests.inc({}, turn.requests);
      throttles.inc({}, turn.throttled);
      slices.inc({}, turn.slices);
    },
    'queue-counted': ({ waiting, active, delayed, dead }) => {
      for (const [state, count] of Object.entries({ waiting, active, delayed, dead })) queue.set({ state }, count);
    },
    'queue-lost': () => {
      connected.set({}, 0);
    },
    'queue-back': () => {
      connected.set({}, 1);
    },
  };
}
