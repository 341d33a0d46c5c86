import type { Database } from '../../core/duckdb/connection.js';
import { rowsOf } from './cells.js';
import { statementsOf, type Scope } from './statements.js';

export interface UnknownList {
  readonly list: string;
  /** Events of it by date and by settlement. */
  readonly events: number;
  readonly groupEvents: number;
}

export interface UnknownAmounts {
  readonly currency: string;
  readonly list: string;
  readonly path: string;
  readonly times: number;
  readonly total: string;
}

export interface InexactAmounts {
  readonly currency: string;
  readonly list: string;
  readonly path: string;
  readonly role: string;
  readonly times: number;
  /** One of them as received; null where it is no number. */
  readonly example: string | null;
}

/** What of the lake's rows nobody expected. */
export interface WarningFigures {
  readonly unknownLists: readonly UnknownList[];
  readonly unknownAmounts: readonly UnknownAmounts[];
  readonly inexactAmounts: readonly InexactAmounts[];
}

/** Reads what stands in no figure, or in none that is certain. */
export async function readWarningFigures(
  database: Database,
  scope: Scope,
  signal: AbortSignal | undefined,
): Promise<WarningFigures> {
  const sql = statementsOf(scope);
  return {
    unknownLists: (await rowsOf(database, sql.unknownLists, signal)).map((row) => ({
      list: row.text('event_list'),
      events: row.count('events'),
      groupEvents: row.count('group_events'),
    })),
    unknownAmounts: (await rowsOf(database, sql.unknownAmounts, signal)).map((row) => ({
      currency: row.text('currency'),
      list: row.text('event_list'),
      path: row.text('path'),
      times: row.count('times'),
      total: row.decimal('total'),
    })),
    inexactAmounts: (await rowsOf(database, sql.inexactAmounts, signal)).map((row) => ({
      currency: row.text('currency'),
      list: row.text('event_list'),
      path: row.text('path'),
      role: row.text('role'),
      times: row.count('times'),
      example: row.textOrNull('example'),
    })),
  };
}
