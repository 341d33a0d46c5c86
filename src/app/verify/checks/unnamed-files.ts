import { isDataFile } from '../../../lake/data-files.js';
import { formatCount, formatSpan } from '../../../core/text/amounts.js';
import type { CatalogContext, CheckDefinition } from '../common/check.js';

const maybeRunning = 'the log does not name it; it may belong to a running run';
const orphanText = 'the log does not name it: left by a dead run, the next run or compact deletes it';
const foreign =
  "a foreign file: the log does not name it, and its name is not one of Ledgerlake's, so no run deletes it; move it " +
  'away, because readers of the folders count its rows';

/** Files that readers of the log do not see, and readers of the folders do. */
function retainedText(files: number, retentionMs: number): string {
  return (
    `${formatCount(files, 'replaced file')} stay for readers of older versions, for ${formatSpan(retentionMs)}; read the tables ` +
    'through their logs, because a plain read_parquet of the folders returns these rows too'
  );
}

export const unnamedFilesCheck: CheckDefinition = {
  name: 'unnamed-files',
  about: 'each file in a partition folder is in the log',
  counts: 'files',
  remedy: ({ file }) => ({ kind: 'move', file }),
  catalog: checkUnnamedFiles,
};

/**
 * Looks for files in partition folders that no log names. Replaced files that stay for the retention time are only
 * counted. While a run is active, others may be its own.
 *
 * The folders are listed before the catalog is read, so that files committed in between are known by then.
 */
async function checkUnnamedFiles({ lake, account, runs, certificate }: CatalogContext): Promise<void> {
  let retained = 0;
  for (const { name } of lake.tables) {
    const listed: string[] = [];
    const known = new Set(Array.from(lake.snapshot.files(name), (file) => file.lakePath));
    for await (const { path } of lake.store.list(name)) {
      if (path.startsWith(`${name}/_`)) continue;
      if (account !== undefined && !path.startsWith(`${name}/account=${account}/`)) continue;
      certificate.count(unnamedFilesCheck);
      if (!known.has(path)) listed.push(path);
    }
    if (listed.length === 0) continue;
    await lake.refresh();
    const { snapshot } = lake;
    const named = new Set(Array.from(snapshot.files(name), (file) => file.lakePath));
    for (const file of listed) {
      if (named.has(file)) continue;
      if (snapshot.isRetired(file)) {
        retained++;
        continue;
      }
      const problem = !isDataFile(file) ? foreign : runs.active.length > 0 ? maybeRunning : orphanText;
      // A file that the next run removes harms only readers that bypass the log.
      const kind = problem === foreign ? 'lake' : 'note';
      const remedy = problem === orphanText ? ({ remedy: { kind: 'compact' } } as const) : {};
      certificate.add(unnamedFilesCheck, kind, { table: name, file, loadKey: '', ...remedy }, problem);
    }
  }
  const note = { table: '', file: '', loadKey: '' };
  if (retained > 0)
    certificate.add(unnamedFilesCheck, 'note', note, retainedText(retained, lake.snapshot.config.retentionMs));
}
