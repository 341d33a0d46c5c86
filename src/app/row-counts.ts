/** The counts of a summary, from rows by table: rows of `group_events` and of `transactions` count as events. */
export function countsOf(rows: ReadonlyMap<string, number>): { readonly events: number; readonly entries: number } {
  const count = (isCounted: (table: string) => boolean) =>
    [...rows].reduce((sum, [table, number]) => (isCounted(table) ? sum + number : sum), 0);
  return { events: count(hasEvents), entries: count(hasEntries) };
}

/** Whether a table's rows are neither events nor entries. */
export function hasOtherRows(table: string): boolean {
  return !hasEvents(table) && !hasEntries(table);
}

function hasEvents(table: string): boolean {
  return /(?:events|transactions)$/.test(table);
}

function hasEntries(table: string): boolean {
  return table.endsWith('entries');
}
