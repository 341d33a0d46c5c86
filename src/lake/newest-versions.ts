import { createHash } from 'node:crypto';
import { LedgerlakeError } from '../core/errors.js';
import { descriptionPath } from './table-descriptions.js';
import type { Table } from '../core/columns/table.js';
import { parseNote } from './store/store.js';
import type { Store } from './store/store.js';

const path = '_versions.json';

/** What the lake's tables had come to when a run last began, replaced files or ended well. */
export interface NewestVersions {
  /** By table. */
  readonly versions: Readonly<Record<string, number>>;
  /** Pipelines of a user's own, by the table that the lake describes for each. */
  readonly described: Readonly<Record<string, string>>;
}

interface Versioned {
  readonly schema: Table;
  readonly snapshot: { readonly version: number };
}

const nothing: NewestVersions = { versions: {}, described: {} };

/**
 * Reads which versions a lake had come to: to be asked before its logs are read. A note that isn't as it was written says
 * nothing.
 */
export async function readNewestVersions(store: Store): Promise<NewestVersions> {
  const read = parseNote(await store.read(path), (value) => {
    const { sha256, ...note } = value as NewestVersions & { sha256?: unknown };
    return sha256 === digest(note) ? note : undefined;
  });
  // The next run writes one that is damaged again.
  return read ?? nothing;
}

/**
 * Compares tables with the versions that they had come to. Nothing in a log says that commits at its end are gone: what
 * they added would be taken for a dead run's files, and be deleted.
 *
 * @throws LedgerlakeError LAKE_LOG where a log has become shorter, or a table's description is gone
 */
export function checkNewestVersions(
  { versions, described }: NewestVersions,
  tables: ReadonlyMap<string, Versioned>,
  location: string,
): void {
  for (const [name, pipeline] of Object.entries(described)) {
    if (tables.has(name)) continue;
    throw new LedgerlakeError(
      'LAKE_LOG',
      `expected the description of the table ${name} in ${location}/${descriptionPath(pipeline)}, it is missing; restore the file ` +
        `from a copy, or run \`ledgerlake backfill ${pipeline}\` with its definition`,
    );
  }
  for (const [name, version] of Object.entries(versions)) {
    const found = tables.get(name)?.snapshot.version ?? version;
    if (found >= version) continue;
    throw new LedgerlakeError(
      'LAKE_LOG',
      `expected version ${version} of ${location}/${name}/_delta_log, ${found < 0 ? 'there is no log' : `its newest is ${found}`}: ` +
        `commits are missing; restore them from a copy, run \`ledgerlake rebuild --log\`, or delete ${location}/${path} where the table was put back on purpose`,
    );
  }
}

/** Notes the versions that tables have come to, unless the lake's note says so already. */
export async function noteNewestVersions(store: Store, tables: readonly Versioned[]): Promise<void> {
  const before = await readNewestVersions(store);
  const begun = tables.filter(({ snapshot }) => snapshot.version >= 0);
  // Another run may have read further by now.
  const versions = begun.map(({ schema: { name }, snapshot: { version } }): [string, number] => [
    name,
    Math.max(version, before.versions[name] ?? version),
  ]);
  const described = begun.flatMap(({ schema: { name, ownPipeline } }): [string, string][] =>
    ownPipeline === undefined ? [] : [[name, ownPipeline]],
  );
  const note = {
    versions: sorted({ ...before.versions, ...Object.fromEntries(versions) }),
    described: sorted({ ...before.described, ...Object.fromEntries(described) }),
  };
  if (digest(note) === digest(before)) return;
  await store.write(path, Buffer.from(`${JSON.stringify({ ...note, sha256: digest(note) })}\n`));
}

function sorted<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function digest(note: NewestVersions): string {
  return createHash('sha256').update(JSON.stringify(note)).digest('hex');
}
