import type { Database } from '../../core/duckdb/connection.js';
import type { Cell } from '../../core/text/rows.js';

/** A row of a query, read by the kinds that the statement gives its columns. */
export class Row {
  readonly #cells: Readonly<Record<string, Cell>>;

  constructor(cells: Readonly<Record<string, Cell>>) {
    this.#cells = cells;
  }

  text(name: string): string {
    return String(this.#cells[name] ?? '');
  }

  textOrNull(name: string): string | null {
    const cell = this.#cells[name] ?? null;
    return cell === null ? null : String(cell);
  }

  /** A decimal's exact text; 0 where there is none. */
  decimal(name: string): string {
    return String(this.#cells[name] ?? '0');
  }

  /** A number of things. */
  count(name: string): number {
    return Number(this.#cells[name] ?? 0);
  }
}

/** The rows of a query that gives few. */
export async function rowsOf(database: Database, sql: string, signal: AbortSignal | undefined): Promise<Row[]> {
  return (await database.rows(sql, { signal })).map((cells) => new Row(cells));
}

/** Things by a key of theirs, in their order. */
export function groupedBy<T, K extends string>(things: readonly T[], keyOf: (thing: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const thing of things) {
    const key = keyOf(thing);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [thing]);
    else group.push(thing);
  }
  return groups;
}
