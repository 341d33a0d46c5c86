import type { Clock } from '../../src/clock.js';
import { readChain } from '../../src/finances/pages.js';
import { scanPage } from '../../src/finances/page.js';
import { requestPath } from '../../src/finances/request-path.js';
import { tables } from '../../src/finances/tables.js';
import type { FinancesUpstream } from '../../src/finances/upstream.js';
import { Lake } from '../../src/lake/lake.js';
import { holdLease } from '../../src/lake/leases.js';
import type { Store } from '../../src/lake/store.js';
import { sweepLake } from '../../src/lake/sweep.js';
import { choosePipelines } from '../../src/options/pipelines.js';
import { runPipelines } from '../../src/run/runner.js';
import type { Window } from '../../src/run/windows.js';
import { createSeller } from '../../src/seller/seller.js';
import { createAnswers } from '../../src/service/answers.js';
import type { Ledger, LedgerPage } from '../../src/service/ledger.js';
import { clockAt } from '../commands/lake-run.js';

export const clock: Clock = clockAt('2026-03-20T12:00:00Z');

/** The end of February and the beginning of March: two months, and a few slices of each pipeline. */
export const range: Window = { start: Date.UTC(2026, 1, 25), end: Date.UTC(2026, 2, 11) };

/** A seller with so few events that a whole run takes a tenth of a second. */
export function smallSeller(): Ledger {
  return createSeller({ seed: 3, events: 600 }, clock);
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
  const answer = createAnswers({ ledger, clock });
  const bodies = new Map<string, Promise<Uint8Array>>();
  const body = async (path: string): Promise<Uint8Array> => Buffer.from((await answer('GET', path)).body);
  return {
    pace: () => undefined,
    begun: () => [],
    pages: (operation, parameters, reading) =>
      readChain(
        { operation, parameters },
        {
          ...reading,
          clock,
          request: async (name, asked, { counts, signal }) => {
            signal.throwIfAborted();
            counts.requests++;
            const path = requestPath(name, asked);
            const page = bodies.get(path) ?? body(path);
            bodies.set(path, page);
            return { page: scanPage(await page), body: await page, requestId: undefined };
          },
        },
      ),
  };
}

/** A run like `ledgerlake backfill`, on any store; throws what ended it. How many requests it took. */
export async function run(store: Store, upstream: FinancesUpstream, refresh = false, over = range): Promise<number> {
  const lake = await Lake.open(store, tables, clock);
  const lease = await holdLease(store, clock);
  try {
    const { summaries, failure } = await runPipelines(choosePipelines([], false), {
      job: { account: 'shop', range: over, lake, refresh, orders: [] },
      upstream,
      clock,
      signal: new AbortController().signal,
      tell: () => undefined,
      judge: () => 'stop',
      openSlices: 4,
    });
    if (failure !== undefined) throw failure as Error;
    await sweepLake(lake, lease, clock);
    lease.cleared();
    return summaries.reduce((sum, { requests }) => sum + requests, 0);
  } finally {
    await lease.release();
  }
}
