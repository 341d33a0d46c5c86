import type { Emit } from '../../core/events/run-event.js';
import { join } from 'node:path';
import { emitDamage } from '../context.js';
import type { Clock } from '../../core/clock.js';
import { sqlType } from '../../core/columns/table.js';
import { tables } from '../../sources/finances/lake-tables.js';
import type { DataFile } from '../../lake/delta/data-file.js';
import type { DeltaColumn } from '../../lake/delta/table-metadata.js';
import type { CommandScope } from '../command-text.js';
import { asKnownMacros, loadedSpansMacro } from './as-known.js';
import { notesOn } from './query-notes.js';
import { StatementScopes } from './statement-scope.js';
import { readViewSettings, viewStatements } from './views.js';
import { checkFiles, fileFault } from './file-fault.js';
import { refuseUnknownAccount } from '../configuration/account.js';
import { cacheOf, type QuerySettings } from '../configuration/settings.js';
import { FetchedFiles } from './fetched-files.js';
import { existingLake } from '../../lake/existing-lake.js';
import type { PastVersion } from '../../lake/catalog/past-snapshot.js';
import type { Lake } from '../../lake/lake.js';
import type { ViewedTable } from '../../core/duckdb/views.js';
import type { QueriedLake } from './lake-database.js';

/** Tables with the types of DuckDB. */
export function sqlTables(
  tables: readonly { readonly name: string; readonly columns: readonly DeltaColumn[] }[],
): readonly ViewedTable[] {
  return tables.map(({ name, columns }) => ({
    name,
    columns: columns.map((column) => ({ name: column.name, type: sqlType(column) })),
  }));
}

/** The tables of the built-in pipelines. */
export const lakeTables = sqlTables(tables);

/** A lake for queries. */
export interface LakeReader extends QueriedLake {
  readonly lake: Lake;
  /** The only folders that its statements need. */
  readonly folders: readonly string[];
  /** When it was first loaded, in milliseconds since 1970; undefined for an empty lake. */
  readonly firstLoad: number | undefined;
  /** Notes on a statement, printed before its result. */
  readonly notesOn: (statement: string) => readonly string[];
}

/**
 * Opens an existing lake for a command that reads it; `log` receives its damaged checkpoints.
 *
 * @throws LedgerlakeError as `existingLake`
 */
export async function openExistingLake(location: string, clock: Clock, emit: Emit): Promise<Lake> {
  const lake = await existingLake({ lake: location }, tables, { clock });
  emitDamage(lake, emit);
  return lake;
}

export interface LakeReaderOptions extends QuerySettings {
  /** Receives damaged checkpoints, and how far a fetch is. */
  readonly emit?: Emit | undefined;
  readonly scope?: CommandScope;
  /** The version that queries see; left out: the newest one each time. */
  readonly at?: PastVersion | undefined;
  /** The accounts that queries see; left out: all. */
  readonly accounts?: readonly string[] | undefined;
}

/**
 * Opens a lake for queries. Its tables are those of the built-in pipelines, and of custom ones that have rows.
 *
 * @throws LedgerlakeError as `existingLake`, and as `pastSnapshot`; USAGE for an account that the lake lacks
 */
export async function openLakeReader(
  location: string,
  clock: Clock,
  options: LakeReaderOptions = {},
): Promise<LakeReader> {
  const lake = await openExistingLake(location, clock, options.emit ?? (() => undefined));
  return lakeReader(lake, location, clock, options);
}

/** As `openLakeReader`, for a lake that is open. */
export async function lakeReader(
  lake: Lake,
  location: string,
  clock: Clock,
  { emit = () => undefined, scope = {}, at, accounts, ...settings }: LakeReaderOptions = {},
): Promise<LakeReader> {
  const viewSettings = await readViewSettings(settings);
  if (at !== undefined) await lake.goTo(at);
  const isLocal = lake.store.localPath('') !== undefined;
  const fetched = isLocal
    ? undefined
    : new FetchedFiles(lake, clock, cacheOf(settings), { ...scope, lake: location }, emit);
  // An earlier version lacks files of which the copies are needed.
  if (at === undefined) await fetched?.removeForgotten();
  for (const account of accounts ?? []) refuseUnknownAccount(account, lake.snapshot.accounts(), location);
  if (accounts !== undefined) lake.limitTo(accounts);
  const views = sqlTables(lake.tables.map((table) => ({ name: table.name, columns: lake.snapshot.columnsOf(table) })));
  const firstLoad = firstLoadOf(lake, clock.now());
  const checked = new Set<DataFile>();
  const scopes = new StatementScopes(
    views.map(({ name }) => name),
    [...viewStatements(views, viewSettings).values()],
    asKnownMacros,
  );
  const folder = fetched?.folder ?? lake.store.address('');
  return {
    lake,
    folders: views.flatMap(
      ({ name }) => accounts?.map((account) => join(folder, name, `account=${account}`)) ?? join(folder, name),
    ),
    tables: views,
    lakeFiles: async () => {
      await lake.refresh();
      return fetched === undefined ? lake.fileAddresses() : fetched.lakeFiles();
    },
    fetchFor: async (statement, database, options) =>
      (await fetched?.fetch(statement, scopes.of(statement).tables, database, options)) ?? false,
    faultsFor: (statement) => checkFiles(lake, { ...scope, lake: location }, checked, scopes.of(statement).tables),
    firstLoad,
    macrosFor: (statement) => {
      const { definitions, canRead } = scopes.of(statement);
      return [...(canRead('loaded_spans') ? [loadedSpansMacro(lake.snapshot)] : []), ...definitions];
    },
    notesOn: (statement) => notesOn(scopes.of(statement), lake, { firstLoad, hasCosts: settings.costs !== undefined }),
    faultOf: (error) => fileFault(error, lake, { ...scope, lake: location }),
  };
}

/** When the oldest table was created. The logs of a foreign lake can contain any value. */
function firstLoadOf(lake: Lake, now: number): number | undefined {
  return lake.tables
    .flatMap(({ name }) => lake.snapshot.tables.get(name)?.metaData.createdTime ?? [])
    .filter((at) => Number.isInteger(at) && at > 0 && at <= now)
    .toSorted((one, other) => one - other)[0];
}
