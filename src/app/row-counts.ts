import type { Table } from '../core/columns/table.js';
import { tables } from '../sources/finances/lake-tables.js';

const held = new Map(tables.map(({ name, holds }) => [name, holds]));

/** What the rows of a table count as; undefined: neither events, transactions included, nor entries nor groups. */
export function heldIn(table: string): Table['holds'] {
  return held.get(table);
}

/** The counts of a summary, from rows by table: rows of `group_events` and of `transactions` count as events. */
export function countsOf(rows: ReadonlyMap<string, number>): { readonly events: number; readonly entries: number } {
  const count = (kind: Table['holds']) =>
    [...rows].reduce((sum, [table, number]) => (heldIn(table) === kind ? sum + number : sum), 0);
  return { events: count('events'), entries: count('entries') };
}
