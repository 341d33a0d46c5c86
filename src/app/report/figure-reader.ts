import { isoInstant } from '../../core/numeric/instant.js';
import type { Database } from '../../core/duckdb/connection.js';
import { parametersOf } from '../../core/duckdb/sql-statements.js';
import type { ResultCell } from '../../core/text/rows.js';

/** Conversions of a column's cells; a decimal keeps its exact text. */
const readers = {
  text: (cell: ResultCell) => String(cell ?? ''),
  textOrNull: (cell: ResultCell) => (cell === null ? null : String(cell)),
  decimal: (cell: ResultCell) => String(cell ?? '0'),
  count: (cell: ResultCell) => Number(cell ?? 0),
};

type Columns = Readonly<Record<string, keyof typeof readers>>;

/** A statement with a small result, and the type of each column that is read: `seenAt` is the column `seen_at`. */
export interface Statement<C extends Columns> {
  readonly text: string;
  readonly columns: C;
}

export function statement<const C extends Columns>(text: string, columns: C): Statement<C> {
  return { text, columns };
}

type RowOf<C extends Columns> = { readonly [Name in keyof C]: ReturnType<(typeof readers)[C[Name]]> };

/** A result row of a statement. */
export type FigureRow<S> = S extends Statement<infer C> ? RowOf<C> : never;

/** The account and range of a report; bounds in milliseconds since 1970, undefined where there is none. */
export interface Scope {
  readonly account: string;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** Reads the rows of a statement. Its parameters are `$account`, `$from` and `$to` of the scope, and those of `parameters`. */
export type FigureReader = <C extends Columns>(
  statement: Statement<C>,
  parameters?: Readonly<Record<string, ResultCell>>,
) => Promise<RowOf<C>[]>;

export function figureReader(
  database: Database,
  { account, from, to }: Scope,
  signal: AbortSignal | undefined,
): FigureReader {
  const scope = {
    account,
    from: from === undefined ? '-infinity' : isoInstant(from),
    to: to === undefined ? 'infinity' : isoInstant(to),
  };
  return async <C extends Columns>({ text, columns }: Statement<C>, parameters = {}) => {
    const names = parametersOf(text);
    // DuckDB refuses a value of which the statement has no parameter.
    const named = Object.entries({ ...scope, ...parameters }).filter(([name]) => names.has(name));
    const rows = await database.rows(text, { signal, parameters: Object.fromEntries(named) });
    const fields = Object.entries(columns).map(([name, kind]) => ({
      name,
      read: readers[kind],
      column: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    }));
    return rows.map(
      (row) =>
        Object.fromEntries(fields.map(({ name, column, read }) => [name, read(row[column] ?? null)])) as RowOf<C>,
    );
  };
}
