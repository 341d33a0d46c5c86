import { startEmulator, type EmulatorOptions } from '../../emulator/emulator.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import type { BackendPage, BackendQuery } from '../../../src/serve/operation/backend-page.js';
import { withTransactions } from '../../serve/http/array-backend.js';
import type { RunningApiServer } from '../../../src/serve/http/server.js';
import type { Clock } from '../../../src/core/clock.js';
import type { Window } from '../../../src/core/windows.js';

export interface WatchedServer extends RunningApiServer {
  /** What was asked for since it was last cleared: the unit that it belongs to, as the log calls it, and the page. */
  readonly asked: string[];
  /** Milliseconds that an answer takes; Infinity: none ever comes. */
  slowness: number;
  /** Called at each request, before it is answered. */
  onRequest: () => void;
}

/** A service of its own that tells what it is asked for; `more`: its quota, latency, faults. */
export async function watchedServer(
  backend: Backend,
  clock: Clock,
  more: Partial<EmulatorOptions> = {},
): Promise<WatchedServer> {
  const asked: string[] = [];
  const iso = (ms: number) => new Date(ms).toISOString();
  const answer = async <T>(unit: string, { cursor }: BackendQuery, work: () => Promise<T>): Promise<T> => {
    asked.push(`${unit}#${cursor ?? ''}`);
    server.onRequest();
    if (server.slowness === Infinity) return new Promise(() => undefined);
    if (server.slowness > 0) await new Promise((resolve) => setTimeout(resolve, server.slowness));
    return work();
  };
  const window = ({ start, end }: Window) => `window/${iso(start)}/${iso(end)}`;
  const { byTransaction } = backend;
  const watched: Backend = {
    byTransaction:
      byTransaction &&
      withTransactions(byTransaction, (question, query) =>
        answer(`transactions/${question.status ?? window(question.range)}`, query, () =>
          byTransaction.transactions(question, query),
        ),
      ),
    groups: (range, query): Promise<BackendPage> =>
      answer(`financial-event-groups/${window(range)}`, query, () => backend.groups(range, query)),
    events: (range, query) => answer(`financial-events/${window(range)}`, query, () => backend.events(range, query)),
    eventsOfGroup: (id, query) => answer(`group-events/group/${id}`, query, () => backend.eventsOfGroup(id, query)),
    eventsOfOrder: (id, query) => answer(`order-events/order/${id}`, query, () => backend.eventsOfOrder(id, query)),
  };
  const running = await startEmulator({ ...more, backend: watched, clock });
  const server: WatchedServer = { ...running, asked, slowness: 0, onRequest: () => undefined };
  return server;
}
