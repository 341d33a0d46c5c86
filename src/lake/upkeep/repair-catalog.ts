import type { Clock } from '../../core/clock.js';
import type { Table } from '../../core/columns/table.js';
import { zstd } from '../../core/parquet/encoder/zstd.js';
import { version as programVersion } from '../../core/version.js';
import { CatalogFiles, commitPath, publishedPath } from '../catalog/catalog-files.js';
import { chainDown, readCheckpoints } from '../catalog/chain.js';
import type { LoadKey } from '../catalog/load-key.js';
import { openSnapshot } from '../catalog/open-snapshot.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { newMetaData } from '../delta/table-metadata.js';
import { Lake } from '../lake.js';
import { deltaCommit } from '../publish/delta-commit.js';
import { publishedFaults } from '../publish/published-logs.js';
import type { Store } from '../store/store.js';
import { restoreCommits } from './restored-commits.js';

/** A file that a repair writes again or removes, and what becomes of it. */
export interface RepairStep {
  /** Within the lake. */
  readonly path: string;
  readonly text: string;
}

export interface RepairedCatalog {
  readonly lake: Lake;
  readonly steps: readonly RepairStep[];
  /** Versions of the catalog that nothing has any more. */
  readonly lost: readonly number[];
  /** Load keys that lost commits had set, as far as they are known. */
  readonly gaps: readonly LoadKey[];
}

/**
 * Restores the catalog from the published logs, then these from the catalog. No other run may be active on the lake.
 *
 * @param store a `plannedStore`, so that nothing is changed yet
 * @throws LedgerlakeError LAKE_STORE; LAKE_LOG where a newer program has written the lake, or nothing of its catalog is left
 */
export async function repairCatalog(store: Store, tables: readonly Table[], clock: Clock): Promise<RepairedCatalog> {
  const steps: RepairStep[] = [];
  const files = new CatalogFiles(store);
  const codec = await zstd();
  const described = (name: string) => {
    const table = tables.find((one) => one.name === name);
    return table === undefined ? undefined : newMetaData(table, clock.now(), 0);
  };
  const names = [...new Set([...tables.map(({ name }) => name), ...(await publishedTables(store))])];
  const { restored, lost, gaps } = await restoreCommits(store, names, codec, described);
  for (const version of restored)
    steps.push({ path: commitPath(version), text: 'is restored from the published logs' });
  for (const version of lost) {
    steps.push({
      path: commitPath(version),
      text: 'LOST: nothing has it any more; files that are not adopted again are taken out',
    });
  }
  const { snapshot } = await openSnapshot(files, codec, () => undefined);
  for (const name of names) steps.push(...(await removeForeign(store, name, snapshot)));
  const lake = await Lake.openLost(store, tables, clock);
  if (lost.length > 0) {
    await lake.erase('REPAIR');
    return { lake, steps, lost, gaps };
  }
  const { faults } = await readCheckpoints(files, codec);
  for (const { path } of faults) {
    await store.remove(path);
    steps.push({ path, text: 'is replaced by a new checkpoint' });
  }
  if (faults.length > 0) await lake.writeCheckpoint();
  steps.push(...(await publishAgain(lake, files)));
  return { lake, steps, lost, gaps };
}

/** The tables with a published log, those of custom pipelines too. */
async function publishedTables(store: Store): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for await (const { path } of store.list('')) {
    const [, name] = /^([^/]+)\/_delta_log\//.exec(path) ?? [];
    if (name !== undefined) names.add(name);
  }
  return names;
}

/** Removes versions of a published log that the catalog doesn't know. */
async function removeForeign(store: Store, table: string, { tables }: Snapshot): Promise<readonly RepairStep[]> {
  const steps: RepairStep[] = [];
  const versions = tables.get(table)?.versions ?? 0;
  for await (const { path } of store.list(`${table}/_delta_log`)) {
    const [, digits] = /\/(\d{20})\.(?:json|checkpoint\.parquet)$/.exec(path) ?? [];
    if (digits === undefined || Number(digits) < versions) continue;
    steps.push({ path, text: "is removed: it is another program's, the catalog has no such version" });
  }
  for (const { path } of steps) await store.remove(path);
  return steps;
}

/** Writes again what is damaged or missing of the published logs. */
async function publishAgain(lake: Lake, files: CatalogFiles): Promise<readonly RepairStep[]> {
  const { store, snapshot } = lake;
  const { faults } = await publishedFaults(store, snapshot, chainDown(files, snapshot.version, snapshot.hash));
  const checkpoints = new Set<string>();
  for (const { table, path, lost } of faults) {
    if (lost === 'checkpoint') {
      await store.remove(path);
      checkpoints.add(table);
      continue;
    }
    const { version, commit } = lost;
    await store.write(
      publishedPath(table, version),
      deltaCommit(table, version, commit, `ledgerlake/${programVersion}`),
    );
  }
  for (const table of checkpoints) await lake.writePublishedCheckpoint(table);
  return faults.map(({ path, fault }) => ({ path, text: `is published again (${fault})` }));
}
