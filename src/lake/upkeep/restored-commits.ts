import { DataFile } from '../delta/data-file.js';
import { CatalogFiles, commitPath } from '../catalog/catalog-files.js';
import { readCheckpoints } from '../catalog/chain.js';
import type { Change } from '../catalog/change.js';
import { encodeCheckpoint } from '../catalog/checkpoint.js';
import {
  canonicalCommit,
  hashesOf,
  noHash,
  sealCommit,
  sealStub,
  type Commit,
  type ErasedStub,
  type SealedCommit,
} from '../catalog/commit.js';
import { Snapshot } from '../catalog/snapshot.js';
import { codeOf } from '../../core/errors.js';
import type { Zstd } from '../../core/parquet/encoder/zstd.js';
import { loadKeyId, type LoadKey, type LoadKeyId } from '../catalog/load-key.js';
import type { MetaData } from '../delta/actions.js';
import { deltaColumns } from '../delta/table-metadata.js';
import { readPublished, type PublishedChange } from '../publish/delta-commit.js';
import type { Store } from '../store/store.js';

/** What became of the commits of a damaged catalog. */
export interface RestoredCommits {
  /** Versions that were written again as they were. */
  readonly restored: readonly number[];
  /** Versions that nothing has any more. What they had changed isn't in the lake. */
  readonly lost: readonly number[];
  /** Load keys that lost commits had set, as far as they are known. */
  readonly gaps: readonly LoadKey[];
}

/** Where a commit is published. */
interface PublishedParts {
  readonly version: number;
  readonly tables: readonly string[];
  readonly paths: ReadonlyMap<string, string>;
}

/** Files that are read concurrently. */
const readAhead = 32;

/**
 * Writes damaged and missing commits again from their publications, byte for byte: the hash proves each. Where one can't be, the
 * commits up to the newest become stubs behind a checkpoint that has all that is known.
 *
 * @param names the tables whose logs may be published
 * @param described metaData of tables whose first commit is lost
 * @throws LedgerlakeError LAKE_STORE; LAKE_LOG where a newer program has written the catalog
 */
export async function restoreCommits(
  store: Store,
  names: readonly string[],
  zstd: Zstd,
  described: (table: string) => MetaData | undefined,
): Promise<RestoredCommits> {
  const files = new CatalogFiles(store);
  const published = await publishedCommits(store, names);
  const newest = Math.max(await files.newestListed(-1), ...[...published.values()].map(({ version }) => version));
  const restored: number[] = [];
  const lost: { version: number; hash: string | undefined }[] = [];
  const hashes = new Map<number, string>();
  let expected: string | undefined;
  for (let version = newest; version >= 0; version--) {
    const found = await readable(files, version);
    const known = found && hashesOf(found);
    if (known !== undefined && (expected === undefined || known.own === expected)) {
      hashes.set(version, known.own);
      expected = known.previous;
      continue;
    }
    const hash = expected ?? [...published].find(([, parts]) => parts.version === version)?.[0];
    if (hash !== undefined) hashes.set(version, hash);
    const parts = hash === undefined ? undefined : published.get(hash);
    const commit = hash === undefined || parts === undefined ? undefined : await restoredCommit(store, parts, hash);
    if (commit === undefined) {
      lost.push({ version, hash });
      const [part] = parts === undefined ? [] : await readParts(store, parts);
      expected = part?.header.previous;
      continue;
    }
    await store.write(commitPath(version), commit.bytes);
    restored.push(version);
    expected = commit.value.previous;
  }
  const gaps: LoadKey[] = [];
  for (const { hash } of lost) {
    const parts = published.get(hash ?? '');
    const [part] = parts === undefined ? [] : await readParts(store, parts);
    gaps.push(...(part?.header.keys?.set ?? []));
  }
  if (lost.length > 0) {
    gaps.push(...(await replaceByCheckpoint(store, { files, newest, zstd, hashes, lost, published, described })));
  }
  return { restored, lost: lost.map(({ version }) => version), gaps };
}

async function readable(files: CatalogFiles, version: number): Promise<SealedCommit | ErasedStub | undefined> {
  try {
    return await files.stored(version);
  } catch (error) {
    if (codeOf(error) !== 'LAKE_LOG') throw error;
    return undefined;
  }
}

/** The commits that published versions carry, by hash. */
async function publishedCommits(store: Store, names: readonly string[]): Promise<ReadonlyMap<string, PublishedParts>> {
  const found = new Map<string, { version: number; tables: readonly string[]; paths: Map<string, string> }>();
  for (const table of names) {
    const paths: string[] = [];
    for await (const { path } of store.list(`${table}/_delta_log`)) if (/\/\d{20}\.json$/.test(path)) paths.push(path);
    for (let at = 0; at < paths.length; at += readAhead) {
      const some = paths.slice(at, at + readAhead);
      const read = await Promise.all(some.map(async (path) => ({ path, published: await partAt(store, path) })));
      for (const { path, published } of read) {
        if (published === undefined) continue;
        const { sha256, header, tables } = published;
        const parts = found.get(sha256) ?? { version: header.version, tables, paths: new Map<string, string>() };
        found.set(sha256, parts);
        parts.paths.set(table, path);
      }
    }
  }
  return found;
}

async function partAt(store: Store, path: string): Promise<PublishedChange | undefined> {
  const bytes = await store.read(path);
  const part = bytes && readPublished(bytes);
  return part !== undefined && Number.isSafeInteger(part.header.version) ? part : undefined;
}

async function readParts(store: Store, { paths }: PublishedParts): Promise<readonly PublishedChange[]> {
  return (await Promise.all([...paths.values()].map((path) => partAt(store, path)))).flatMap((part) => part ?? []);
}

/** The commit as it was; undefined where a publication of it is missing, or has changed. */
async function restoredCommit(store: Store, parts: PublishedParts, hash: string): Promise<SealedCommit | undefined> {
  const tables: Record<string, Commit['tables'][string]> = {};
  let header: PublishedChange['header'] | undefined;
  for (const table of parts.tables) {
    const path = parts.paths.get(table);
    const part = path === undefined ? undefined : await partAt(store, path);
    if (part?.sha256 !== hash) return undefined;
    header = part.header;
    tables[table] = part.change;
  }
  if (header === undefined) return undefined;
  const commit = sealCommit(canonicalCommit(header, { ...header, tables }));
  return commit.hash === hash ? commit : undefined;
}

type NamedChange = readonly [name: string, change: NonNullable<Change['tables']>[string]];

interface LostCommits {
  readonly files: CatalogFiles;
  readonly newest: number;
  readonly zstd: Zstd;
  /** By version, as far as they are known. */
  readonly hashes: ReadonlyMap<number, string>;
  readonly lost: readonly { readonly version: number; readonly hash: string | undefined }[];
  readonly published: ReadonlyMap<string, PublishedParts>;
  readonly described: (table: string) => MetaData | undefined;
}

/**
 * Writes a checkpoint of the newest version, from the newest one that can be read and the commits behind it, and stubs for the
 * commits that are lost. Of a lost commit only what it took away counts: load keys that it set become gaps, and those of files that it
 * replaced. Returns the latter.
 */
async function replaceByCheckpoint(store: Store, given: LostCommits): Promise<LoadKey[]> {
  const { files, newest, zstd, hashes, lost } = given;
  const { checkpoints } = await readCheckpoints(files, zstd);
  const [checkpoint] = checkpoints
    .filter(({ snapshot: { version, hash } }) => version <= newest && (hashes.get(version) ?? hash) === hash)
    .toSorted((a, b) => b.snapshot.version - a.snapshot.version);
  const gaps: LoadKey[] = [];
  let state = checkpoint?.snapshot ?? Snapshot.empty;
  let { at } = state.state;
  for (let version = state.version + 1; version <= newest; version++) {
    const found = await readable(files, version);
    if (found !== undefined) ({ at } = 'erased' in found ? found : found.value);
    const change = await knownChange(store, given, version, found);
    if (change === undefined) continue;
    const replaced = lost.some((one) => one.version === version) ? keysOfRemoved(state, change) : [];
    gaps.push(...replaced);
    const rowless = keysWithoutTable(state, change, given.described);
    gaps.push(...rowless);
    const gone = [...replaced, ...rowless].map(loadKeyId);
    const set = (change.keys?.set ?? []).filter((key) => !rowless.includes(key));
    const keys = { set, delete: [...(change.keys?.delete ?? []), ...gone] };
    state = staged(state, { ...change, keys }, given.described);
  }
  const tables = new Map(state.tables);
  for (const [name, table] of tables) {
    tables.set(name, { ...table, versions: Math.max(table.versions, await publishedVersions(store, name)) });
  }
  const versionHash = (version: number) => (version < 0 ? noHash : (hashes.get(version) ?? noHash));
  const whole = new Snapshot(
    { ...state.state, tables, version: newest, hash: versionHash(newest), at },
    state.accountStates(),
  );
  for (const { version } of lost) {
    const value = { version, previous: versionHash(version - 1), at };
    await store.write(commitPath(version), sealStub({ value, hash: versionHash(version) }));
  }
  await files.writeCheckpoint(newest, encodeCheckpoint(whole, zstd));
  return gaps;
}

/** The load keys of the files that a change removes, but for those that it deletes. */
function keysOfRemoved(state: Snapshot, { tables = {}, keys }: Change): LoadKey[] {
  const deleted = new Set((keys?.delete ?? []).map((id) => JSON.stringify(loadKeyId(id))));
  const isDeleted = (id: LoadKeyId) => deleted.has(JSON.stringify(id));
  const found = new Map<string, LoadKey>();
  for (const [table, { remove = [] }] of Object.entries(tables)) {
    for (const { path } of remove) {
      const file = state.file(table, path);
      if (file === undefined) continue;
      const { account, pipeline, loadKeys } = file;
      for (const key of loadKeys) {
        const id = { account, pipeline, key };
        const stored = state.key(id);
        if (stored !== undefined && !isDeleted(id)) found.set(JSON.stringify(id), { ...stored, ...id });
      }
    }
  }
  return [...found.values()];
}

/** What is known of a version: all of it, or of a lost one what it took away. */
async function knownChange(
  store: Store,
  { hashes, lost, published, described }: LostCommits,
  version: number,
  found: SealedCommit | ErasedStub | undefined,
): Promise<Change | undefined> {
  if (!lost.some((one) => one.version === version)) {
    return found === undefined || 'erased' in found ? undefined : found.value;
  }
  const parts = published.get(hashes.get(version) ?? '');
  const known = parts === undefined ? [] : await readParts(store, parts);
  const [{ header } = { header: undefined }] = known;
  if (parts === undefined || header === undefined) return undefined;
  const { keys = {}, fence, deleted, config, forgotten } = header;
  const gone = [...(keys.set ?? []), ...(keys.delete ?? [])].map(loadKeyId);
  // No hash proves these parts: they may be damaged, or stand in the place of another table's.
  const changes = [...parts.paths.keys()].flatMap((table, at) => {
    if (!parts.tables.includes(table)) return [];
    const { metaData, description, remove } = known[at]?.change ?? {};
    const schema = metaData && (described(table) ?? (isMetaData(metaData) ? metaData : undefined));
    return [
      [table, { ...(schema && { metaData: schema }), ...(description && { description }), ...(remove && { remove }) }],
    ];
  });
  return {
    keys: { delete: gone },
    ...(fence && { fence }),
    ...(deleted && { deleted }),
    ...(config && { config }),
    ...(forgotten && { forgotten }),
    tables: Object.fromEntries(changes) as NonNullable<Change['tables']>,
  };
}

function isMetaData(metaData: MetaData): boolean {
  try {
    deltaColumns(metaData.schemaString);
    return true;
  } catch {
    return false;
  }
}

/** Whether a table is known, or a change describes it; otherwise the commit that did is lost, and its files can't be kept. */
function isKnownTable(
  state: Snapshot,
  [name, { metaData }]: NamedChange,
  described: (table: string) => MetaData | undefined,
): boolean {
  return state.tables.has(name) || (metaData ?? described(name)) !== undefined;
}

/** The load keys that a change sets, and whose rows may be in a table that isn't known any more. */
function keysWithoutTable(
  state: Snapshot,
  { tables = {}, keys }: Change,
  described: (table: string) => MetaData | undefined,
): readonly LoadKey[] {
  const known = Object.entries(tables).filter((entry) => isKnownTable(state, entry, described));
  if (known.length === Object.keys(tables).length) return [];
  const pipelines = new Set(
    known.flatMap(([name, { add = [] }]) => add.map((file) => new DataFile(file, name).pipeline)),
  );
  return (keys?.set ?? []).filter(({ pipeline }) => !pipelines.has(pipeline));
}

/** The state with a change, less what doesn't fit it, as another one before it is lost. */
function staged(state: Snapshot, change: Change, described: (table: string) => MetaData | undefined): Snapshot {
  const tables = Object.entries(change.tables ?? {}).flatMap((entry) => {
    const [name, table] = entry;
    if (!isKnownTable(state, entry, described)) return [];
    const metaData = table.metaData ?? (state.tables.has(name) ? undefined : described(name));
    const remove = (table.remove ?? []).filter(({ path }) => state.file(name, path) !== undefined);
    return [[name, { ...table, ...(metaData && { metaData }), remove }] as const];
  });
  const set = change.keys?.set ?? [];
  const gone = (change.keys?.delete ?? []).filter((id) => state.key(id) !== undefined);
  const deleted = (change.deleted ?? []).filter((path) => state.isRetired(path));
  return state.stage({ ...change, tables: Object.fromEntries(tables), keys: { set, delete: gone }, deleted });
}

/** The number of versions that a table's log has, by the name of the newest. */
async function publishedVersions(store: Store, table: string): Promise<number> {
  let versions = 0;
  for await (const { path } of store.list(`${table}/_delta_log`)) {
    const [, digits] = /\/(\d{20})\.json$/.exec(path) ?? [];
    if (digits !== undefined) versions = Math.max(versions, Number(digits) + 1);
  }
  return versions;
}
