import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readContent } from '../../../lake/files/local-file.js';
import { isDataFile } from '../../../lake/data-files.js';
import { formatCount, formatSpan } from '../../../core/text/amounts.js';
import type { CheckContext } from './certificate.js';
import type { LogFile } from './log-files.js';

/** A file whose bytes match the log, at a path that DuckDB can read. */
export interface LocalFile {
  readonly path: string;
  /** Removes the local copy, if there is one. */
  release(): Promise<void>;
}

/**
 * Reads a file of the lake and compares its size and hash with the log; a file that isn't on a local disk is copied to
 * its path in `folder`. Undefined where they differ, which is a problem, and where an active run has replaced the file meanwhile,
 * which is none.
 */
export async function checkBytes(
  file: LogFile,
  folder: string,
  { lake, certificate }: CheckContext,
): Promise<LocalFile | undefined> {
  const { store } = lake;
  certificate.count('file-bytes');
  const local = store.localPath(file.file);
  const copy = local === undefined ? join(folder, file.file) : undefined;
  if (copy !== undefined) await mkdir(dirname(copy), { recursive: true });
  const release = async () => {
    if (copy !== undefined) await rm(copy, { force: true });
  };
  const found = await readContent(store, file.file, { copy });
  const fault = faultOf(file, found);
  const path = local ?? copy;
  if (fault === undefined && path !== undefined) return { path, release };
  await release();
  // Another writer's commit may have replaced it meanwhile.
  if (found === undefined) {
    await lake.refresh();
    if (file.delta.snapshot.file(file.add.path) === undefined) return undefined;
  }
  const whatToDo = file.delta.schema.appendOnly === true ? '; restore it from a copy, if there is one' : '';
  certificate.add('file-bytes', 'lake', file, `${fault ?? ''}${whatToDo}`);
  return undefined;
}

function faultOf(file: LogFile, found: Awaited<ReturnType<typeof readContent>>): string | undefined {
  if (found === undefined) return 'the file is missing';
  if (found.size !== file.add.size) {
    return `expected ${file.add.size} bytes, found ${found.size}: the file was changed or cut off`;
  }
  return found.sha256 === file.sha256 ? undefined : 'its SHA-256 is not the one in the log: the file was changed';
}

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

/**
 * Looks for files in partition folders that no log names. Replaced files that stay for the retention time are only
 * counted. While a run is active, others may be its own.
 *
 * The folders are listed before the catalog is read, so that files committed in between are known by then.
 */
export async function checkUnreferenced(
  account: string | undefined,
  isRunning: boolean,
  { lake, certificate }: Pick<CheckContext, 'lake' | 'certificate'>,
): Promise<void> {
  let retained = 0;
  for (const table of lake.tables) {
    const name = table.schema.name;
    const listed: string[] = [];
    const known = new Set([...table.snapshot.files()].map((add) => table.pathOf(add)));
    for await (const { path } of lake.store.list(name)) {
      if (path.startsWith(`${name}/_`)) continue;
      if (account !== undefined && !path.startsWith(`${name}/account=${account}/`)) continue;
      certificate.count('unnamed-files');
      if (!known.has(path)) listed.push(path);
    }
    if (listed.length === 0) continue;
    await lake.refresh();
    const { snapshot } = lake;
    const named = new Set([...table.snapshot.files()].map((add) => table.pathOf(add)));
    for (const file of listed) {
      if (named.has(file)) continue;
      if (snapshot.isRetired(file)) {
        retained++;
        continue;
      }
      const problem = !isDataFile(file) ? foreign : isRunning ? maybeRunning : orphanText;
      // A file that the next run removes harms only readers that bypass the log.
      const kind = problem === foreign ? 'lake' : 'note';
      const remedy = problem === orphanText ? ({ remedy: { kind: 'compact' } } as const) : {};
      certificate.add('unnamed-files', kind, { table: name, file, slice: '', ...remedy }, problem);
    }
  }
  const note = { table: '', file: '', slice: '' };
  if (retained > 0) certificate.add('unnamed-files', 'note', note, retainedText(retained, lake.retentionMs));
}
