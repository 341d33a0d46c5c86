import { hasEvents, type RowKind } from '../core/columns/table.js';
import { tables } from '../sources/finances/lake-tables.js';

const kinds = new Map(tables.map((table) => [table.name, hasEvents(table) ? 'event' : table.row]));

/** What the rows of a table count as: transactions as events. */
export function rowKindIn(table: string): RowKind | undefined {
  return kinds.get(table);
}

/** The counts of a summary, from rows by table: rows of `group_events` and of `transactions` count as events. */
export function countsOf(rows: ReadonlyMap<string, number>): { readonly events: number; readonly entries: number } {
  const count = (kind: RowKind) =>
    [...rows].reduce((sum, [table, number]) => (rowKindIn(table) === kind ? sum + number : sum), 0);
  return { events: count('event'), entries: count('entry') };
}
