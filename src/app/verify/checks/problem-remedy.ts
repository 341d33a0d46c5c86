import type { Lake } from '../../../lake/lake.js';
import { hasFile } from '../../../lake/store/store.js';
import { damagedFileRemedy, derivingPipeline, rereadRemedy } from '../../coverage/damaged-rows.js';
import type { Remedy } from '../../remedy.js';
import { checks, type FoundProblem } from './certificate.js';

/** What repairs a problem: what its check names, else what its kind, table and file suggest; undefined where nothing is known. */
export function problemRemedy(problem: FoundProblem, lake: Lake): Remedy | undefined {
  const { check, kind, table, file, remedy } = problem;
  if (remedy !== undefined) return remedy;
  const { mendedBy } = checks[check];
  // No repair brings a version back that `--expect` names and the chain lacks.
  if (kind !== 'lake' || mendedBy === undefined || (check === 'catalog-chain' && file === '')) return undefined;
  const isCustom = lake.tables.find(({ schema }) => schema.name === table)?.schema.customPipeline !== undefined;
  switch (mendedBy) {
    case 'rebuild':
      // `rebuild` would need the pipeline's definition.
      return isCustom ? rereadRemedy(problem, lake) : { kind: 'rebuild' };
    case 'reread':
      return damagedFileRemedy(problem, lake);
    case 'repair':
      return { kind: derivingPipeline(table) !== undefined && check === 'unique-ids' ? 'rebuild' : 'repair' };
    case 'move':
      return { kind: 'move', file };
  }
}

/**
 * What repairs a problem of a backup: the next backup replaces a file that is damaged, missing or left over. Undefined where it is
 * repaired in the lake, which has the problem too.
 *
 * @param remedy what would repair it in a lake
 * @param of the lake of which it is a backup
 */
export async function backupRemedy(
  { check, file }: FoundProblem,
  remedy: Remedy | undefined,
  of: string,
  { store }: Lake,
): Promise<Remedy | undefined> {
  const isLeftOver = check === 'unnamed-files' && remedy?.kind === 'compact';
  if (check === 'file-bytes' || isLeftOver) {
    const isDamaged = !isLeftOver && (await hasFile(store, file));
    return { kind: 'backup', of, ...(isDamaged && { damaged: file }) };
  }
  return remedy?.kind === 'move' || check === 'catalog-chain' || check === 'published-logs' ? remedy : undefined;
}
