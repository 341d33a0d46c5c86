import { zstd } from '../../../core/parquet/encoder/zstd.js';
import { CatalogFiles } from '../../../lake/catalog/catalog-files.js';
import { chainDown, readCheckpoints, type ChainLink } from '../../../lake/catalog/chain.js';
import { publishedFaults } from '../../../lake/publish/published-logs.js';
import { publishedLogsCheck } from './published-logs.js';
import type { CatalogContext, CheckDefinition } from '../common/check.js';

export const catalogChainCheck: CheckDefinition = {
  name: 'catalog-chain',
  about: 'each commit is sealed and follows the one before it',
  counts: 'commits',
  isOfCatalog: true,
  // No repair brings a version back that `--expect` names and the chain lacks.
  remedy: ({ file }) => (file === '' ? undefined : { kind: 'repair' }),
  catalog: checkCatalog,
};

/**
 * Walks the whole chain of the catalog's commits, and compares its checkpoints and every published log with it.
 *
 * @throws LedgerlakeError LAKE_STORE
 */
export async function checkCatalog({
  lake: { store, snapshot },
  runs: { active, dead },
  expected,
  certificate,
}: Pick<CatalogContext, 'lake' | 'runs' | 'expected' | 'certificate'>): Promise<void> {
  const files = new CatalogFiles(store);
  const { checkpoints, faults: checkpointFaults } = await readCheckpoints(files, await zstd());
  const chainFault = (file: string, fault: string) => {
    certificate.add(catalogChainCheck, 'lake', { table: '', file, loadKey: '' }, fault);
  };
  for (const { path, fault } of checkpointFaults) chainFault(path, fault);
  let known: string | undefined;
  async function* links(): AsyncGenerator<ChainLink> {
    for await (const link of chainDown(files, snapshot.version, snapshot.hash)) {
      certificate.count(catalogChainCheck);
      if (link.fault !== undefined) chainFault(link.fault.path, link.fault.fault);
      if (link.version === expected?.version) known = link.hash;
      for (const { name, snapshot: state } of checkpoints) {
        if (state.version !== link.version || link.hash === undefined || state.hash === link.hash) continue;
        chainFault(name.path, `it has another hash of version ${link.version} than the commits`);
      }
      yield link;
    }
  }
  const { faults, versions } = await publishedFaults(store, snapshot, links());
  certificate.count(publishedLogsCheck, versions);
  for (const { table, path, fault, isUnpublished } of faults) {
    // A run publishes what it has committed a moment later; the next one does so for a dead run.
    const isPending = isUnpublished && active.length + dead.length > 0;
    const text = isPending ? `${fault}; the next run publishes it` : fault;
    certificate.add(publishedLogsCheck, isPending ? 'note' : 'lake', { table, file: path, loadKey: '' }, text);
  }
  if (expected === undefined || known === expected.hash) return;
  const found = known === undefined ? `the catalog ends with version ${snapshot.version}` : `found ${known}`;
  chainFault('', `expected version ${expected.version} of the catalog with the hash ${expected.hash}, ${found}`);
}
