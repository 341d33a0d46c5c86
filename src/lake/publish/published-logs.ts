import { isDeepStrictEqual } from 'node:util';
import { publishedPath, type CatalogFault } from '../catalog/catalog-files.js';
import type { ChainLink } from '../catalog/chain.js';
import { canonicalCommit, canonicalTable, type Commit, type SealedCommit } from '../catalog/commit.js';
import type { Snapshot } from '../catalog/snapshot.js';
import type { Store } from '../store/store.js';
import { readPublished } from './delta-commit.js';
import { PublishedCheckpoints } from './published-checkpoints.js';

/** A damaged or missing file of a table's published log. */
export interface PublishedFault extends CatalogFault {
  readonly table: string;
  /** What is to be written again: a version, or the checkpoint with its hint. */
  readonly lost: { readonly version: number; readonly commit: SealedCommit } | 'checkpoint';
  /** Whether the version and all newer ones are missing, as where a run died before it published them. */
  readonly isUnpublished: boolean;
}

/** Versions that are read concurrently. */
const readAhead = 32;

/**
 * Compares each table's published log with the catalog: each version, and the checkpoints. A commit that can't be read is recognized
 * by the hash that its publications carry.
 *
 * @param links of the chain, from the snapshot's version down
 * @throws LedgerlakeError LAKE_STORE
 */
export async function publishedFaults(
  store: Store,
  snapshot: Snapshot,
  links: AsyncIterable<ChainLink>,
): Promise<{ readonly faults: readonly PublishedFault[]; readonly versions: number }> {
  /** The version of each table that the next link which touches it has. */
  const next = new Map([...snapshot.tables].map(([name, { versions }]) => [name, versions - 1]));
  const unpublished = new Set(snapshot.tables.keys());
  const checkpoints = new Map<string, PublishedCheckpoints>();
  const faults: PublishedFault[] = [];
  let versions = 0;
  const note = (table: string, path: string, fault: string | undefined) => {
    if (fault !== undefined) faults.push({ table, path, fault, lost: 'checkpoint', isUnpublished: false });
  };
  for (const table of snapshot.tables.keys()) {
    const found = await PublishedCheckpoints.of(store, snapshot, table);
    if (found === undefined) continue;
    checkpoints.set(table, found);
    note(table, found.pathOf('hint'), found.hintFault);
  }

  let pending: Promise<VersionState>[] = [];
  const finish = async () => {
    for (const { table, path, bytes, fault, version, commit } of await Promise.all(pending)) {
      if (bytes !== undefined) unpublished.delete(table);
      if (fault === undefined) continue;
      faults.push({ table, path, fault, lost: { version, commit }, isUnpublished: unpublished.has(table) });
    }
    pending = [];
  };
  for await (const link of links) {
    const { commit } = link;
    const tables = commit === undefined ? await tablesBy(store, next, link) : Object.keys(commit.value.tables);
    for (const table of tables) {
      const version = next.get(table);
      if (version === undefined || version < 0) continue;
      next.set(table, version - 1);
      const own = checkpoints.get(table);
      if (own !== undefined) note(table, own.pathOf(version), own.faultAt(version));
      own?.undo(commit?.value.tables[table]);
      if (commit === undefined) continue;
      versions++;
      pending.push(stateOf(store, table, version, commit));
    }
    if (pending.length >= readAhead) await finish();
  }
  await finish();
  return { faults, versions };
}

interface VersionState {
  readonly path: string;
  readonly fault: string | undefined;
  readonly table: string;
  readonly version: number;
  readonly commit: SealedCommit;
  readonly bytes: Uint8Array | undefined;
}

async function stateOf(store: Store, table: string, version: number, commit: SealedCommit): Promise<VersionState> {
  const path = publishedPath(table, version);
  const bytes = await store.read(path);
  return { table, version, commit, path, bytes, fault: publishedFault(table, commit, bytes) };
}

/** What is wrong with a published version; undefined where it has what its commit has. */
function publishedFault(
  table: string,
  { value, hash }: SealedCommit,
  bytes: Uint8Array | undefined,
): string | undefined {
  if (bytes === undefined) return 'it is missing';
  const found = readPublished(bytes);
  if (found === undefined) return 'its bytes have changed';
  if (found.sha256 !== hash) return `it is of another commit than version ${value.version} of the catalog`;
  const isSame =
    found.tables.join() === Object.keys(value.tables).join() &&
    isDeepStrictEqual(canonicalTable(found.change), canonicalTable(value.tables[table] ?? {})) &&
    isDeepStrictEqual(commitWithoutTables(found.header), commitWithoutTables(value));
  return isSame ? undefined : `it has something else than version ${value.version} of the catalog`;
}

function commitWithoutTables(commit: Omit<Commit, 'tables'>): Commit {
  return canonicalCommit(commit, { ...commit, tables: {} });
}

/** The tables that a commit touches which can't be read. The versions of erased ones were removed. */
async function tablesBy(
  store: Store,
  next: ReadonlyMap<string, number>,
  { hash, fault }: ChainLink,
): Promise<readonly string[]> {
  if (fault === undefined || hash === undefined) return [];
  for (const [table, version] of next) {
    const bytes = version < 0 ? undefined : await store.read(publishedPath(table, version));
    const published = bytes && readPublished(bytes);
    if (published?.sha256 === hash) return published.tables;
  }
  return [];
}
