import type { Clock } from '../../../src/core/clock.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import type { Findings } from '../../../src/app/reconcile/findings.js';
import { EventRevisions } from '../../../src/app/reconcile/reconcile-slice.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import { defaultLimits, withWorkspace } from '../../../src/lake/files/workspace.js';
import { database } from '../lake-run.js';
import { load } from '../maintenance/small-lake.js';

export interface Refreshing {
  readonly clock: Clock;
  readonly acceptEmpty?: boolean;
}

/** Reads windows of a small lake again, as if a service had answered with these events; what was found. */
export async function refreshed(
  place: Store | string,
  windows: ReadonlyMap<number, readonly string[]>,
  { clock, acceptEmpty = false }: Refreshing,
): Promise<Findings> {
  const store = typeof place === 'string' ? openStore(place) : place;
  return withWorkspace(defaultLimits, store, async (workspace) => {
    const lake = await Lake.open(store, tables, clock);
    const revisions = new EventRevisions(lake, clock, workspace);
    for (const [number, events] of windows) {
      await load(lake, number, events, { clock, refresh: true, acceptEmpty, revisions });
    }
    return revisions.findings;
  });
}

/** Rows of a query over a lake's views. */
export async function rowsOf(lake: string, clock: Clock, sql: string): Promise<Record<string, unknown>[]> {
  return [...(await (await database(lake, clock, sql)).rows(sql))];
}

/** The history in short, in order: `appeared order-1-0`. */
export async function historyOf(lake: string, clock: Clock): Promise<string[]> {
  const rows = await rowsOf(
    lake,
    clock,
    "SELECT change || ' ' || amazon_order_id AS line FROM event_history ORDER BY seen_at, line",
  );
  return rows.map(({ line }) => String(line));
}
