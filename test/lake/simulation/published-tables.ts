import { readPublished, type PublishedChange } from '../../../src/lake/publish/delta-commit.js';
import { Violation } from './violation.js';

/** The published logs of tables, by what their versions add and remove. */
export class PublishedTables {
  readonly #tables = new Map<string, { readonly version: number; readonly paths: Set<string> }>();

  /** The newest published version of a table; -1: none. */
  version(table: string): number {
    return this.#tables.get(table)?.version ?? -1;
  }

  /** The files of a table in its newest published version. */
  paths(table: string): ReadonlySet<string> {
    return this.#tables.get(table)?.paths ?? new Set();
  }

  /** Adds the next version of a table. Throws a Violation where it is another one, or removes what isn't there. */
  publish(table: string, version: number, bytes: Uint8Array, path: string): PublishedChange {
    const newest = this.version(table);
    if (version !== newest + 1) throw new Violation(`${path} is published behind version ${newest}`);
    const published = readPublished(bytes);
    if (published === undefined) throw new Violation(`${path} can't be read`);
    const paths = this.#tables.get(table)?.paths ?? new Set<string>();
    for (const file of published.change.remove ?? [])
      if (!paths.delete(file.path)) throw new Violation(`${path} removes what isn't there`);
    for (const file of published.change.add ?? []) paths.add(file.path);
    this.#tables.set(table, { version, paths });
    return published;
  }
}
