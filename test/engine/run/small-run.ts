import { noRevisions } from '../../lake/small-table.js';
import type { Clock } from '../../../src/core/clock.js';
import { readPages } from '../../../src/engine/paging/paginator.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import type { ApiPage, PagedApi, Query } from '../../../src/engine/paging/paged-api.js';
import type { BackfillJob, Reading, SyncJob } from '../../../src/engine/run/pipeline.js';
import { finances20240619 } from '../../../src/sources/finances/api-2024-06-19/finances-api.js';
import { financesV0 } from '../../../src/sources/finances/api-v0/finances-api.js';
import { noUpstream, type FinancesUpstream } from '../../../src/sources/finances/connect-finances.js';
import { Lake } from '../../../src/lake/lake.js';
import { acquireLease } from '../../../src/lake/leases.js';
import type { Store } from '../../../src/lake/store/store.js';
import { vacuumLake } from '../../../src/lake/upkeep/vacuum.js';
import { choosePipelines } from '../../../src/app/configuration/chosen-pipelines.js';
import { runPipelines } from '../../../src/engine/run/runner.js';
import { dayMs, type Window } from '../../../src/core/windows.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { createAnswers } from '../../../src/serve/http/answers.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import type { BackendPage } from '../../../src/serve/operation/backend-page.js';
import { clockAt } from '../../app/lake-run.js';

export const clock: Clock = clockAt('2026-03-20T12:00:00Z');

/** The end of February and the beginning of March: two months, and a few slices of each pipeline. */
export const range: Window = { start: Date.UTC(2026, 1, 25), end: Date.UTC(2026, 2, 11) };

/** A seller with so few events that a whole run takes a tenth of a second. */
export function smallSeller(): Backend {
  return createSeller({ seed: 3, events: 600, profile: 'edge-cases' }, clock);
}

/** The seller some time later: every fifth event is gone, and every seventh has something more to it. */
export function changed(backend: Backend): Backend {
  const page = (from: BackendPage): BackendPage => ({
    next: from.next,
    items: from.items
      .filter(({ list, json }) => list === '' || json.length % 5 !== 0)
      .map((item) => (item.json.length % 7 === 0 ? { ...item, json: `{"Later":1,${item.json.slice(1)}` } : item)),
  });
  return {
    groups: async (...asked) => page(await backend.groups(...asked)),
    events: async (...asked) => page(await backend.events(...asked)),
    eventsOfGroup: async (...asked) => {
      const found = await backend.eventsOfGroup(...asked);
      return found && page(found);
    },
    eventsOfOrder: async (...asked) => {
      const found = await backend.eventsOfOrder(...asked);
      return found && page(found);
    },
  };
}

/** The service over a backend at an instant as pipelines see it, without sockets. */
export function upstreamOf(backend: Backend, at: Clock = clock): FinancesUpstream {
  const options = { endpoint: 'http://127.0.0.1', quota: undefined, cursorLifeMs: 180_000 };
  const answer = createAnswers({ backend, clock: at });
  const bodies = new Map<string, Promise<Uint8Array>>();
  const { signal } = new AbortController();
  const body = async (path: string): Promise<Uint8Array> => {
    const request = { method: 'GET', target: path, headers: {}, body: () => Promise.resolve(Buffer.alloc(0)), signal };
    return Buffer.from((await answer(request)).body);
  };
  const clientOf = <Q extends Query, P extends ApiPage>(api: PagedApi<Q, P>) => ({
    pace: () => undefined,
    begun: () => [],
    pages: (asked: Q, reading: Reading<unknown>) =>
      readPages(asked, {
        requestOptions: reading,
        api,
        clock,
        request: async (query, { cursor, pageSize }, { counts, signal }) => {
          signal.throwIfAborted();
          counts.requests++;
          const { path } = api.request(query, cursor, pageSize);
          const received = bodies.get(path) ?? body(path);
          bodies.set(path, received);
          const headers = new Map<string, string>();
          const page = api.readPage(query, { headers, body: await received }, { path });
          return { page, headers, body: await received, requestId: undefined };
        },
      }),
  });
  return {
    ...noUpstream,
    v0: { ...noUpstream.v0, ...clientOf(financesV0.paged(options)) },
    '2024-06-19': clientOf(finances20240619.paged(options)),
  };
}

/** What makes a job that of a sync up to an instant, with a look-back of two days. */
export function syncUntil(end: number, now = end): Pick<SyncJob, Exclude<keyof SyncJob, keyof BackfillJob> | 'kind'> {
  const from = end - 2 * dayMs;
  const known = { lookBackFrom: () => from, requestedLookBackFrom: from, requested: [] };
  return { kind: 'sync', now, ...known };
}

/** A run like `ledgerlake backfill`, or like `sync`, on any store; throws what ended it. How many requests it took. */
export async function run(
  store: Store,
  upstream: FinancesUpstream,
  refresh = false,
  over = range,
  pipelines = choosePipelines([], false),
  kind: Pick<BackfillJob, 'kind'> | ReturnType<typeof syncUntil> = { kind: 'backfill' },
): Promise<number> {
  const lake = await Lake.open(store, tables, clock);
  const lease = await acquireLease(lake, clock);
  try {
    const { summaries, failure } = await runPipelines(pipelines, {
      job: { account: 'shop', range: over, lake, refresh, orders: [], ...kind },
      upstream,
      clock,
      signal: new AbortController().signal,
      emit: () => undefined,
      openSlices: 4,
      revisions: noRevisions,
    });
    if (failure !== undefined) throw failure as Error;
    await vacuumLake(lake, lease, { clock, emit: () => undefined });
    lease.cleared();
    return summaries.reduce((sum, { requests }) => sum + requests, 0);
  } finally {
    await lease.release();
  }
}
