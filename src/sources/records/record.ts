/** A JSON value of an answer. It is decoded on demand, and no number becomes a float. */
export interface Json {
  /** The type of the value. */
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** A string's value; the received text of a number or boolean (`12.30`, `1e3`, `true`); undefined for all others. */
  readonly text: string | undefined;
  /** The value's JSON exactly as received. */
  readonly raw: string;
  /** The value at a path of names; undefined where a name is missing, or a parent isn't an object. */
  at(...names: readonly string[]): Json | undefined;
  /**
   * The elements of the array at a path of names (of this value without a name).
   *
   * @throws an error where it isn't an array; the page is requested again, and finally the slice fails
   */
  list(...names: readonly string[]): readonly Json[];
  /** The keys of an object in the received order; empty for other values. */
  keys(): readonly string[];
}

/**
 * A value for a column. A {@link Json} is read by the column's type; JavaScript numbers must be integers. A value of another
 * type, or one that isn't exact, becomes null and is counted in the run's summary; `raw` still contains it. In a table without
 * `raw` it fails the window.
 */
export type Cell = Json | string | bigint | number | boolean | Date | null | undefined;

/** Values of a row by column; a missing column is null. */
export type Row = Readonly<Record<string, Cell>>;
