import type { Database } from '../../core/duckdb/connection.js';
import { grouped } from './figures.js';
import { rowsOf } from './cells.js';
import { statementsOf, type Scope } from './statements.js';

/** What one run found changed in what it read again. Instants are ISO 8601, UTC. */
export interface LateRun {
  readonly seenAt: string;
  readonly appeared: number;
  readonly vanished: number;
  /** When the first and the last of these events stand. */
  readonly earliest: string;
  readonly latest: string;
}

/** What a month of one currency has changed by since it was first read. */
export interface LateMonth {
  readonly month: string;
  readonly appeared: number;
  readonly vanished: number;
  /** Net amount of what appeared less that of what vanished. */
  readonly changed: string;
  readonly lastSeen: string;
}

export interface LateEvent {
  readonly change: string;
  readonly seenAt: string;
  readonly at: string;
  readonly list: string;
  readonly order: string | null;
  readonly currency: string | null;
  /** Null where it has no net amount. */
  readonly net: string | null;
}

/** What arrived late or vanished, as `event_history` has it. */
export interface LateFigures {
  /** Runs that found something, and the newest ones of them. */
  readonly runCount: number;
  /** Changes of all runs. */
  readonly changeCount: number;
  readonly runs: readonly LateRun[];
  readonly months: ReadonlyMap<string, readonly LateMonth[]>;
  /** The newest ones. */
  readonly events: readonly LateEvent[];
}

/** Reads what came by date later than its window was first read. */
export async function readLate(
  database: Database,
  scope: Scope,
  signal: AbortSignal | undefined,
): Promise<LateFigures> {
  const sql = statementsOf(scope);
  await database.execute(sql.makeLate, { signal });
  const runs = await rowsOf(database, sql.lateRuns, signal);
  const [first] = runs;
  if (first === undefined) return { runCount: 0, changeCount: 0, runs: [], months: new Map(), events: [] };
  await database.execute(sql.makeLateAmounts, { signal });
  const months = grouped(await rowsOf(database, sql.lateMonths, signal));
  return {
    runCount: first.count('runs'),
    changeCount: first.count('changes'),
    runs: runs.map((row) => ({
      seenAt: row.text('seen_at'),
      appeared: row.count('appeared'),
      vanished: row.count('vanished'),
      earliest: row.text('earliest'),
      latest: row.text('latest'),
    })),
    months: new Map(
      [...months].map(([currency, own]) => [
        currency,
        own.map((row) => ({
          month: row.text('month'),
          appeared: row.count('appeared'),
          vanished: row.count('vanished'),
          changed: row.decimal('changed'),
          lastSeen: row.text('last_seen'),
        })),
      ]),
    ),
    events: (await rowsOf(database, sql.lateEvents, signal)).map((row) => ({
      change: row.text('change'),
      seenAt: row.text('seen_at'),
      at: row.text('effective_at'),
      list: row.text('event_list'),
      order: row.textOrNull('amazon_order_id'),
      currency: row.textOrNull('currency'),
      net: row.textOrNull('net'),
    })),
  };
}
