import { createHash } from 'node:crypto';
import { LedgerlakeError } from '../core/errors.js';
import { isDataFile } from './data-files.js';
import { commitsMissing } from './delta/delta-log.js';
import type { DeltaTable } from './delta/delta-table.js';
import { descriptionPath } from './table-descriptions.js';
import { parseNote, type Store } from './store/store.js';

const path = '_versions.json';

/** The newest versions of the lake's tables when a run last began, deleted files or ended successfully. */
export interface NewestVersions {
  /** By table. */
  readonly versions: Readonly<Record<string, number>>;
  /** Custom pipelines by the table that the lake describes for each. */
  readonly described: Readonly<Record<string, string>>;
}

type Logged = Pick<DeltaTable, 'schema' | 'snapshot' | 'logLocation' | 'refresh'>;
type Versioned = Pick<DeltaTable, 'schema'> & { readonly snapshot: { readonly version: number } };

/** The versions of a lake without the note. */
export const noVersions: NewestVersions = { versions: {}, described: {} };

/**
 * Reads the note of a lake's newest versions. Must be called before the logs are read. Undefined where it is missing or
 * damaged; the next run writes it again.
 */
export async function readNewestVersions(store: Store): Promise<NewestVersions | undefined> {
  return parseNote(await store.read(path), (value) => {
    const { sha256, ...note } = value as NewestVersions & { sha256?: unknown };
    return sha256 === digest(note) ? note : undefined;
  });
}

/**
 * Checks that the lake still has the descriptions of its custom tables.
 *
 * @throws LedgerlakeError LAKE_LOG where a table's description is missing
 */
export function checkDescribed(
  { described }: NewestVersions,
  tables: ReadonlyMap<string, unknown>,
  location: string,
): void {
  for (const [name, pipeline] of Object.entries(described)) {
    if (tables.has(name)) continue;
    throw new LedgerlakeError(
      'LAKE_LOG',
      `expected the description of the table ${name} in ${location}/${descriptionPath(pipeline)}, got none; restore the file ` +
        `from a copy, or run \`ledgerlake backfill ${pipeline}\` with its definition`,
    );
  }
}

/**
 * Compares tables with their noted versions, and looks for data files without a log: a log itself doesn't show that its
 * last commits are missing. The files of missing commits would look like orphans, and be deleted. A table's log is
 * created before its first file, also in a run that is killed.
 *
 * @throws LedgerlakeError LAKE_LOG where commits at a log's end, or the log, are missing
 */
export async function checkLogs(
  { versions }: NewestVersions,
  tables: readonly Logged[],
  store: Pick<Store, 'list'>,
): Promise<void> {
  for (const { schema, snapshot, logLocation } of tables) {
    const expected = versions[schema.name] ?? -1;
    if (snapshot.version < expected) throw commitsMissing(logLocation, expected, snapshot.version);
  }
  const withoutLog = tables.filter(({ snapshot }) => snapshot.version < 0);
  const found = await Promise.all(
    withoutLog.map(async (table) => ({ table, file: await firstDataFile(store, table.schema.name) })),
  );
  for (const { table, file } of found) {
    // A concurrent run may have created the table since its log was read.
    if (file !== undefined && (await table.refresh()).version < 0) throw logMissing(table.logLocation, file);
  }
}

/** The path of a data file in a table's folders, within the lake, that `accepts` takes; undefined where there is none. */
export async function firstDataFile(
  store: Pick<Store, 'list'>,
  table: string,
  accepts: (path: string) => boolean = () => true,
): Promise<string | undefined> {
  for await (const { path } of store.list(table)) if (isDataFile(path) && accepts(path)) return path;
  return undefined;
}

/** The error for a table with data files, such as `file`, and no log. */
export function logMissing(location: string, file: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_LOG',
    `expected a log in ${location}, got only data files such as ${file}; restore it from a copy, or run ` +
      '`ledgerlake rebuild --log`',
  );
}

/** Notes the newest versions of tables, unless the lake's note is up to date. */
export async function noteNewestVersions(store: Store, tables: readonly Versioned[]): Promise<void> {
  const found = await readNewestVersions(store);
  const before = found ?? noVersions;
  const withLog = tables.filter(({ snapshot }) => snapshot.version >= 0);
  // Another run may have noted newer versions.
  const versions = withLog.map(({ schema: { name }, snapshot: { version } }): [string, number] => [
    name,
    Math.max(version, before.versions[name] ?? version),
  ]);
  const described = withLog.flatMap(({ schema: { name, customPipeline } }): [string, string][] =>
    customPipeline === undefined ? [] : [[name, customPipeline]],
  );
  const note = {
    versions: sorted({ ...before.versions, ...Object.fromEntries(versions) }),
    described: sorted({ ...before.described, ...Object.fromEntries(described) }),
  };
  if (found !== undefined && digest(note) === digest(found)) return;
  await store.write(path, Buffer.from(`${JSON.stringify({ ...note, sha256: digest(note) })}\n`));
}

function sorted<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function digest(note: NewestVersions): string {
  return createHash('sha256').update(JSON.stringify(note)).digest('hex');
}
