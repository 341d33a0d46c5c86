import type { Lake } from '../../lake/lake.js';
import { hasFile } from '../../lake/store/store.js';
import type { Remedy } from '../remedy.js';
import type { FoundProblem } from './common/certificate.js';
import { fileBytesCheck } from './checks/file-bytes.js';

/** What repairs a problem: its own remedy, else that of its check; undefined where nothing is known. */
export function problemRemedy(problem: FoundProblem, lake: Lake): Remedy | undefined {
  const { check, kind, remedy } = problem;
  if (remedy !== undefined || kind !== 'lake') return remedy;
  return check.remedy?.(problem, lake) ?? (check.takenOut === undefined ? undefined : { kind: 'repair' });
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
  const isLeftOver = remedy?.kind === 'compact';
  if (check === fileBytesCheck || isLeftOver) {
    const isDamaged = !isLeftOver && (await hasFile(store, file));
    return { kind: 'backup', of, ...(isDamaged && { damaged: file }) };
  }
  return remedy?.kind === 'move' || check.isOfCatalog === true ? remedy : undefined;
}
