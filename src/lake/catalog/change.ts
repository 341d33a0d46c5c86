import type { Add, Fields, MetaData, Remove } from '../delta/actions.js';
import type { LoadKey, LoadKeyId } from './load-key.js';

/** A file that a version removes. */
export type RemovedFile = Pick<Add, 'path' | 'partitionValues' | 'size'> & Pick<Remove, 'dataChange'>;

/** What a commit changes of one table, in Delta's own words. */
export interface TableChange {
  /** The table's metaData where it is created or gets columns. */
  readonly metaData?: MetaData;
  /** The description of a custom table, where it is new or gets columns. */
  readonly description?: Fields;
  readonly remove?: readonly RemovedFile[];
  readonly add?: readonly Add[];
}

/** Settings of the whole lake. */
export interface CatalogConfig {
  /** How long replaced files are kept for readers of older versions, in milliseconds; 0: they are deleted at once. */
  readonly retentionMs: number;
}

/** The runs that may commit no more. */
export interface Fence {
  /** All that would have claimed an earlier version first. */
  readonly before?: number;
  /** Others, by name. */
  readonly runs?: readonly string[];
}

/** What a commit changes: all of it, or nothing. */
export interface Change {
  readonly tables?: Readonly<Record<string, TableChange>>;
  readonly keys?: { readonly set?: readonly LoadKey[]; readonly delete?: readonly LoadKeyId[] };
  readonly fence?: Fence;
  /** Replaced files whose retention is over, as paths within the lake: they are deleted after the commit. */
  readonly deleted?: readonly string[];
  readonly config?: Partial<CatalogConfig>;
  /** By account, the instant before which its rows are forgotten, in milliseconds since 1970; null: none is any more. */
  readonly forgotten?: Readonly<Record<string, number | null>>;
}

/** The removal of a file. `dataChange`: false where other files have the same rows from now on. */
export function removedFile({ path, partitionValues, size }: Add, dataChange = true): RemovedFile {
  return { path, partitionValues, size, dataChange };
}

/** The account of a path within a table or the lake, by its folder; undefined for a path without one. */
export function accountOfPath(path: string): string | undefined {
  return /(?:^|\/)account=([^/]*)\//.exec(path)?.[1];
}

/** The account of a file, by its partition: each file is of one. */
export function accountOf({ partitionValues }: Pick<Add, 'partitionValues'>): string {
  return partitionValues['account'] ?? '';
}

/** What several changes come to that are committed as one, each decided on a snapshot that has those before it. */
export function joinedChange(changes: readonly Change[], hasKey: (id: LoadKeyId) => boolean): Change {
  const [only] = changes;
  if (only !== undefined && changes.length === 1) return only;
  const tables = new Map<string, JoinedTable>();
  const set = new Map<string, LoadKey>();
  const deleted = new Map<string, LoadKeyId>();
  for (const { tables: changed = {}, keys = {} } of changes) {
    for (const [name, change] of Object.entries(changed)) joinTable(tables, name, change);
    for (const id of keys.delete ?? []) {
      set.delete(loadKeyText(id));
      // One that an earlier change has set may not be there before the commit.
      if (hasKey(id)) deleted.set(loadKeyText(id), id);
    }
    for (const key of keys.set ?? []) {
      deleted.delete(loadKeyText(key));
      set.set(loadKeyText(key), key);
    }
  }
  const fences = changes.flatMap(({ fence }) => fence ?? []);
  const before = Math.max(-1, ...fences.map((fence) => fence.before ?? -1));
  return {
    tables: Object.fromEntries(
      [...tables].map(([name, { add, remove, ...rest }]) => [name, { ...rest, remove, add: [...add.values()] }]),
    ),
    keys: { set: [...set.values()], delete: [...deleted.values()] },
    fence: { runs: [...new Set(fences.flatMap(({ runs = [] }) => runs))], ...(before >= 0 && { before }) },
    deleted: changes.flatMap((change) => change.deleted ?? []),
    config: Object.assign({}, ...changes.map(({ config }) => config)) as Partial<CatalogConfig>,
    forgotten: Object.fromEntries(changes.flatMap(({ forgotten = {} }) => Object.entries(forgotten))),
  };
}

interface JoinedTable extends Omit<TableChange, 'add' | 'remove'> {
  readonly add: Map<string, Add>;
  readonly remove: RemovedFile[];
}

function joinTable(tables: Map<string, JoinedTable>, name: string, { add, remove, ...rest }: TableChange): void {
  const before = tables.get(name) ?? { add: new Map<string, Add>(), remove: [] };
  tables.set(name, { ...before, ...rest });
  // A file that an earlier change adds and a later one replaces never was: its writer deletes it as unused.
  for (const file of remove ?? []) if (!before.add.delete(file.path)) before.remove.push(file);
  for (const file of add ?? []) before.add.set(file.path, file);
}

function loadKeyText({ account, pipeline, key }: LoadKeyId): string {
  return `${account}/${pipeline}/${key}`;
}

/**
 * A run is named by the version that it would have claimed first and a nonce, because several begin at one version. So
 * a fence of all runs before a version replaces the names of those that began before it, without any clock.
 *
 * @param version the newest version when it begins, -1 in an empty lake
 * @param nonce letters and digits
 */
export function runName(version: number, nonce: string): string {
  return `${version + 1}-${nonce}`;
}

/** The version that a run would have claimed first; Infinity for another text, so that no fence of a version includes it. */
export function firstVersionOf(run: string): number {
  const [, version] = /^(\d{1,15})-/.exec(run) ?? [];
  return version === undefined ? Infinity : Number(version);
}
