/**
 * How a column's cells are written: `number` right-aligned and unquoted in JSON, `time` and `text` as strings (a `time`
 * is never cut to fit a terminal), `json` as the JSON that the cell's text is.
 */
export type CellKind = 'number' | 'boolean' | 'time' | 'text' | 'json';

export interface ResultColumn {
  readonly name: string;
  readonly kind: CellKind;
  /** Whether it is a decimal with the scale of the lake's amounts; text tables round it to its currency's decimals. */
  readonly isAmount?: boolean;
}

/**
 * One value. A number that a double can't represent is a bigint or a text (`25.100000`) in a column of kind `number`;
 * dates and instants are ISO 8601 text; nested values are JSON text.
 */
export type ResultCell = string | number | bigint | boolean | null;

/** A row of a result, by column. */
export type ResultRow = Readonly<Record<string, ResultCell>>;

/** Rows with one cell for each column. */
export type ResultRows = readonly (readonly ResultCell[])[];

/** The names of columns; a duplicate gets the suffix `_1`, `_2` …, so that no value hides another. */
export function distinctNames(columns: readonly ResultColumn[]): readonly string[] {
  const names = new Set(columns.map((column) => column.name));
  const usedNames = new Set<string>();
  return columns.map(({ name }) => {
    let key = name;
    for (let number = 1; usedNames.has(key) || (key !== name && names.has(key)); number++) key = `${name}_${number}`;
    usedNames.add(key);
    return key;
  });
}

/** The text of a non-null cell. */
export function cellText(cell: Exclude<ResultCell, null>): string {
  return Object.is(cell, -0) ? '-0' : String(cell);
}

/** A cell as text; null where it is null or undefined. */
export function textOrNull(cell: ResultCell | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}

/** A cell as a double; null where it is null or undefined. */
export function numberOrNull(cell: ResultCell | undefined): number | null {
  return cell === null || cell === undefined ? null : Number(cell);
}

/** A number's text as JSON; NaN and the infinities are null. */
export function jsonNumber(text: string): string {
  return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? text : 'null';
}
