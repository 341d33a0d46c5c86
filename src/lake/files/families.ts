import type { Table } from '../../core/columns/table.js';

/** The tables that one pipeline fills: what its files hold comes and goes together. */
export interface Family {
  readonly pipeline: string;
  /** The table whose files count by themselves, and name the derived ones. */
  readonly main: Table;
  readonly derived: readonly Table[];
}

/** A pipeline, as far as it tells of its tables: those derived from the main table first, the main table last. */
export interface Tabled {
  readonly name: string;
  readonly tables: readonly Table[];
}

/** The families of some pipelines, in their order. */
export function familiesOf(pipelines: readonly Tabled[]): Family[] {
  return pipelines.flatMap(({ name, tables }) => {
    const main = tables.at(-1);
    return main === undefined ? [] : [{ pipeline: name, main, derived: tables.slice(0, -1) }];
  });
}
