import type { Clock } from '../../../src/core/clock.js';
import { readPages } from '../../../src/engine/paging/paginator.js';
import { readFinancesPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { financesApi } from '../../../src/sources/finances/api-v0/finances-api.js';
import { noUpstream, type FinancesUpstream } from '../../../src/sources/finances/connect-finances.js';
import { Lake } from '../../../src/lake/lake.js';
import { acquireLease } from '../../../src/lake/upkeep/leases.js';
import type { Store } from '../../../src/lake/store/store.js';
import { vacuumLake } from '../../../src/lake/upkeep/vacuum.js';
import { choosePipelines } from '../../../src/app/configuration/chosen-pipelines.js';
import { runPipelines } from '../../../src/engine/run/runner.js';
import type { Window } from '../../../src/core/windows.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { createAnswers } from '../../../src/serve/http/answers.js';
import type { Ledger, LedgerPage } from '../../../src/serve/http/ledger.js';
import { clockAt } from '../../app/lake-run.js';

export const clock: Clock = clockAt('2026-03-20T12:00:00Z');

/** The end of February and the beginning of March: two months, and a few slices of each pipeline. */
export const range: Window = { start: Date.UTC(2026, 1, 25), end: Date.UTC(2026, 2, 11) };

/** A seller with so few events that a whole run takes a tenth of a second. */
export function smallSeller(): Ledger {
  return createSeller({ seed: 3, events: 600, profile: 'edge-cases' }, clock);
}

/** The seller some time later: every fifth event is gone, and every seventh has something more to it. */
export function changed(ledger: Ledger): Ledger {
  const page = (from: LedgerPage): LedgerPage => ({
    next: from.next,
    items: from.items
      .filter(({ list, json }) => list === '' || json.length % 5 !== 0)
      .map((item) => (item.json.length % 7 === 0 ? { ...item, json: `{"Later":1,${item.json.slice(1)}` } : item)),
  });
  return {
    groups: async (...asked) => page(await ledger.groups(...asked)),
    events: async (...asked) => page(await ledger.events(...asked)),
    eventsOfGroup: async (...asked) => {
      const found = await ledger.eventsOfGroup(...asked);
      return found && page(found);
    },
    eventsOfOrder: async (...asked) => {
      const found = await ledger.eventsOfOrder(...asked);
      return found && page(found);
    },
  };
}

/** The service over a ledger as pipelines see it, without sockets. */
export function upstreamOf(ledger: Ledger): FinancesUpstream {
  const api = financesApi({ endpoint: 'http://127.0.0.1', quota: undefined, cursorLifeMs: 180_000 });
  const answer = createAnswers({ ledger, clock });
  const bodies = new Map<string, Promise<Uint8Array>>();
  const body = async (path: string): Promise<Uint8Array> => Buffer.from((await answer('GET', path)).body);
  return {
    ...noUpstream,
    v0: {
      pace: () => undefined,
      begun: () => [],
      pages: (asked, reading) =>
        readPages(asked, {
          asking: reading,
          api,
          clock,
          request: async (query, { cursor, pageSize }, { counts, signal }) => {
            signal.throwIfAborted();
            counts.requests++;
            const path = api.requestPath(query, cursor, pageSize);
            const received = bodies.get(path) ?? body(path);
            bodies.set(path, received);
            const page = readFinancesPage(await received);
            return { page, headers: new Map(), body: await received, requestId: undefined };
          },
        }),
    },
  };
}

/** A run like `ledgerlake backfill`, on any store; throws what ended it. How many requests it took. */
export async function run(store: Store, upstream: FinancesUpstream, refresh = false, over = range): Promise<number> {
  const lake = await Lake.open(store, tables, clock);
  const lease = await acquireLease(store, clock);
  try {
    const { summaries, failure } = await runPipelines(choosePipelines([], false), {
      job: { account: 'shop', range: over, lake, refresh, orders: [] },
      upstream,
      clock,
      signal: new AbortController().signal,
      emit: () => undefined,
      judge: () => 'abort',
      openSlices: 4,
    });
    if (failure !== undefined) throw failure as Error;
    await vacuumLake(lake, lease, clock);
    lease.cleared();
    return summaries.reduce((sum, { requests }) => sum + requests, 0);
  } finally {
    await lease.release();
  }
}
