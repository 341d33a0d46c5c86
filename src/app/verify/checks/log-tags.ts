import { lakePathOf } from '../../../lake/catalog/change.js';
import type { Table } from '../../../core/columns/table.js';
import { ifReadable, shownText, type DataFile } from '../../../lake/delta/data-file.js';
import { loadKeysText } from '../../../lake/files/load-key-rows.js';
import type { Lake } from '../../../lake/lake.js';
import { loadKeyKindOf } from '../../coverage/stored-pipelines.js';
import type { CheckContext, CheckDefinition } from '../common/check.js';
import type { UnreadableFile } from '../../settlements/settlements.js';
import type { CheckedFile } from '../common/checked-files.js';

/** Found by `checkedFiles`. */
export const logTagsCheck: CheckDefinition = {
  name: 'log-tags',
  about: 'the log describes each file',
  counts: 'files',
  takenOut: 'file',
};

/**
 * The files of every table as the log names them. One whose tags can't be understood is left out: it is damaged, and a problem.
 *
 * @param pathOf where DuckDB reads a file
 */
export function checkedFiles(
  lake: Lake,
  account: string | undefined,
  pathOf: (file: string) => string,
  { certificate, damaged }: Pick<CheckContext, 'certificate'> & { readonly damaged: UnreadableFile[] },
): readonly CheckedFile[] {
  const files: CheckedFile[] = [];
  for (const schema of lake.tables) {
    for (const add of lake.snapshot.files(schema.name)) {
      if (account !== undefined && add.account !== account) continue;
      certificate.count(logTagsCheck);
      const location = { table: schema.name, file: lakePathOf(schema.name, add) };
      const fault = tagsFault(schema, add);
      if (fault === undefined) {
        const { loadKeys } = add;
        const slice = loadKeysText(loadKeys);
        files.push({ ...location, slice, account: add.account, schema, add, loadKeys, path: pathOf(location.file) });
      } else {
        damaged.push({ table: schema.name, account: add.account, loadKeys: undefined });
        certificate.add(logTagsCheck, 'lake', { ...location, slice: add.loadKeysTag }, fault);
      }
    }
  }
  return files;
}

/** What is wrong with the tags and the statistics of a file, or undefined. */
function tagsFault(table: Table, add: DataFile): string | undefined {
  const { tagFault, account, month, main, stats } = add;
  if (tagFault !== undefined) return tagFault;
  if (ifReadable(() => add.statistics.numRecords) === undefined) return `expected statistics, got ${shownText(stats)}`;
  const isMain = loadKeyKindOf(table) !== undefined;
  if (isMain && main !== undefined) return `expected no tag main, got ${shownText(main)}`;
  const folder = `account=${account}/month=${month}`;
  const path = lakePathOf(table.name, add);
  return path.startsWith(`${table.name}/${folder}/`) ? undefined : `expected the file in ${folder}`;
}
