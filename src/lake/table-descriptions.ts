import { customPipelinesOf, tablesOf, type Table } from '../core/columns/table.js';
import { faultLine } from '../core/text/fault-line.js';
import type { Snapshot } from './catalog/snapshot.js';
import { catalogError, type Fields } from './delta/actions.js';

/** The description of a custom table in the catalog; undefined for a built-in one, which every program knows. */
export function descriptionOf({ name, about, columns, sort, customPipeline, linesOf }: Table): Fields | undefined {
  if (customPipeline === undefined) return undefined;
  return { name, about, columns, sort: sort ?? [], customPipeline, ...(linesOf !== undefined && { linesOf }) };
}

/**
 * The tables of custom pipelines, as the catalog describes them, so that reading and maintenance don't need the definitions.
 * The table of a pipeline's lines is in front of its main table.
 *
 * @param location of the lake, for messages
 * @throws LedgerlakeError LAKE_LOG where a description is none that this program writes: a lake may come from anybody
 */
export async function describedTables({ tables }: Snapshot, location: string): Promise<readonly Table[]> {
  const described = [...tables].filter(([, { description }]) => description !== undefined);
  if (described.length === 0) return [];
  const wrong = (name: string, fault: string) =>
    catalogError(
      `expected the description of the table ${name} in the catalog of ${location}, found something else (${fault.slice(0, 200)})`,
    );
  // Loaded only for lakes with custom tables.
  const { tableSchema } = await import('../core/columns/table-schema.js');
  const read = described.map(([name, { description }]): Table => {
    const { error, data } = tableSchema.safeParse(description);
    if (error !== undefined) {
      const [issue] = error.issues;
      throw wrong(name, issue === undefined ? '' : faultLine(issue, description));
    }
    if (data.name !== name) throw wrong(name, `it describes ${data.name}`);
    return data;
  });
  const pipelines = customPipelinesOf(read);
  const inOrder = pipelines.flatMap(tablesOf);
  const [stray] = read.filter((table) => !inOrder.includes(table));
  if (stray !== undefined) throw wrong(stray.name, 'it has the lines of no table');
  const names = pipelines.map(({ name }) => name);
  const twice = pipelines.find(({ name }, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw wrong(twice.main.name, `another table is of ${twice.name}, too`);
  return inOrder;
}
