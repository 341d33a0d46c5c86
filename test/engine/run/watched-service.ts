import { startEmulator, type EmulatorOptions } from '../../emulator/emulator.js';
import type { Ledger } from '../../../src/serve/served-apis.js';
import type { LedgerPage, LedgerQuery } from '../../../src/serve/operation/ledger-page.js';
import { withTransactions } from '../../serve/http/array-ledger.js';
import type { RunningService } from '../../../src/serve/http/server.js';
import type { Clock } from '../../../src/core/clock.js';

export interface WatchedService extends RunningService {
  /** What was asked for since it was last cleared: the unit that it belongs to, as the log calls it, and the page. */
  readonly asked: string[];
  /** Milliseconds that an answer takes; Infinity: none ever comes. */
  slowness: number;
  /** Called at each request, before it is answered. */
  onRequest: () => void;
}

/** A service of its own that tells what it is asked for; `more`: its quota, latency, faults. */
export async function watchedService(
  ledger: Ledger,
  clock: Clock,
  more: Partial<EmulatorOptions> = {},
): Promise<WatchedService> {
  const asked: string[] = [];
  const iso = (ms: number) => new Date(ms).toISOString();
  const answer = async <T>(unit: string, { cursor }: LedgerQuery, work: () => Promise<T>): Promise<T> => {
    asked.push(`${unit}#${cursor ?? ''}`);
    service.onRequest();
    if (service.slowness === Infinity) return new Promise(() => undefined);
    if (service.slowness > 0) await new Promise((resolve) => setTimeout(resolve, service.slowness));
    return work();
  };
  const window = ({ from, to }: { from: number; to: number }) => `window/${iso(from)}/${iso(to)}`;
  const { byTransaction } = ledger;
  const watched: Ledger = {
    byTransaction:
      byTransaction &&
      withTransactions(byTransaction, (question, query) =>
        answer(`transactions/${question.status ?? window(question.range)}`, query, () =>
          byTransaction.transactions(question, query),
        ),
      ),
    groups: (range, query): Promise<LedgerPage> =>
      answer(`financial-event-groups/${window(range)}`, query, () => ledger.groups(range, query)),
    events: (range, query) => answer(`financial-events/${window(range)}`, query, () => ledger.events(range, query)),
    eventsOfGroup: (id, query) => answer(`group-events/group/${id}`, query, () => ledger.eventsOfGroup(id, query)),
    eventsOfOrder: (id, query) => answer(`order-events/order/${id}`, query, () => ledger.eventsOfOrder(id, query)),
  };
  const running = await startEmulator({ ...more, ledger: watched, clock });
  const service: WatchedService = { ...running, asked, slowness: 0, onRequest: () => undefined };
  return service;
}
