/**
 * How a column's cells are written: `number` right-aligned and bare in JSON, `time` and `text` as strings (a `time` is
 * never cut to fit a terminal), `json` as the JSON that its cells' text already is.
 */
export type CellKind = 'number' | 'boolean' | 'time' | 'text' | 'json';

export interface ResultColumn {
  readonly name: string;
  readonly kind: CellKind;
  /** Whether it is a decimal with the scale of the lake's amounts; tables show it in the digits of its currency. */
  readonly isAmount?: boolean;
}

/**
 * One value. A number that a double can't carry comes as a bigint or as its own text (`25.100000`) in a column of kind
 * `number`; dates and instants are ISO 8601 text; nested values are JSON text.
 */
export type ResultCell = string | number | bigint | boolean | null;

/** Some rows, each with one cell for every column. */
export type ResultRows = readonly (readonly ResultCell[])[];

/** The names of columns; one that was there before gets `_1`, `_2` …, so that no value hides another. */
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

/** A cell other than null as text. */
export function cellText(cell: Exclude<ResultCell, null>): string {
  return Object.is(cell, -0) ? '-0' : String(cell);
}

/** A cell of a query as text; null where it is null or isn't there. */
export function textOrNull(cell: ResultCell | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}

/** A cell of a query as a double; null where it is null or isn't there. */
export function numberOrNull(cell: ResultCell | undefined): number | null {
  return cell === null || cell === undefined ? null : Number(cell);
}

/** A number's text as JSON: what JSON has no number for (NaN, infinities) is null. */
export function jsonNumber(text: string): string {
  return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? text : 'null';
}
