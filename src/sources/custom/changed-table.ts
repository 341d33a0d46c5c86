import { sqlType, type Table } from '../../core/columns/table.js';
import { usageError } from '../../core/errors.js';
import type { LoadedDefinition } from './load-definitions.js';

/**
 * Holds a definition against the tables that a lake has of users' own: what was loaded has the columns of then.
 *
 * @param lake as the user wrote it
 * @throws LedgerlakeError USAGE naming the file of the definition and what has changed
 */
export function refuseChanged({ file, table }: LoadedDefinition, kept: readonly Table[], lake: string): void {
  const held = kept.find(({ name }) => name === table.name);
  const former = kept.find(({ ownPipeline }) => ownPipeline === table.ownPipeline);
  if (held !== undefined && held.ownPipeline !== table.ownPipeline) {
    const by = held.ownPipeline ?? 'another pipeline';
    throw usageError(`${file}: table.name: expected another name than ${table.name}, which ${by} fills in ${lake}`);
  }
  if (former !== undefined && former.name !== table.name) {
    throw usageError(
      `${file}: table.name: expected ${former.name}, which ${table.ownPipeline ?? ''} fills in ${lake}, got ${table.name}: ` +
        'a pipeline with another table needs another name',
    );
  }
  const what = held && difference(held, table);
  if (what === undefined) return;
  throw usageError(
    `${file}: table: expected ${what}, as ${table.name} has it in ${lake}: give the pipeline and its table other names, or ` +
      'take another --lake',
  );
}

function difference(held: Table, table: Table): string | undefined {
  const [was, is] = [shapeOf(held), shapeOf(table)];
  for (const name of new Set([...was.keys(), ...is.keys()])) {
    const [before, now] = [was.get(name), is.get(name)];
    if (before === undefined) return `no column ${name}`;
    if (before !== now) return `the column ${name} as ${before}, got ${now ?? 'none'}`;
  }
  if ([...was.keys()].join() !== [...is.keys()].join()) return `columns in the order ${[...was.keys()].join(', ')}`;
  const [sort = [], sorted = []] = [held.sort, table.sort];
  return sort.join() === sorted.join() ? undefined : `sort to be [${sort.join(', ')}], got [${sorted.join(', ')}]`;
}

function shapeOf({ columns }: Table): Map<string, string> {
  return new Map(columns.map((column) => [column.name, sqlType(column)]));
}
