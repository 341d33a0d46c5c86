import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readContent } from '../../../lake/files/local-file.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import type { CheckDefinition } from '../common/certificate.js';
import type { CheckContext } from '../common/check.js';
import type { LogFile } from '../common/log-files.js';

/** A file whose bytes match the log, at a path that DuckDB can read. */
export interface LocalFile {
  readonly path: string;
  /** Removes the local copy, if there is one. */
  release(): Promise<void>;
}

export const fileBytesCheck: CheckDefinition = {
  name: 'file-bytes',
  about: 'each file has the size and SHA-256 of the log',
  counts: 'files',
  remedy: damagedFileRemedy,
};

/**
 * Reads a file of the lake and compares its size and hash with the log; a file that isn't on a local disk is copied to
 * its path in `folder`. Undefined where they differ, which is a problem, and where an active run has replaced the file meanwhile,
 * which is none.
 */
export async function checkBytes(
  file: LogFile,
  folder: string,
  { lake, certificate }: Pick<CheckContext, 'lake' | 'certificate'>,
): Promise<LocalFile | undefined> {
  const { store } = lake;
  certificate.count(fileBytesCheck);
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
  certificate.add(fileBytesCheck, 'lake', file, `${fault ?? ''}${whatToDo}`);
  return undefined;
}

function faultOf(file: LogFile, found: Awaited<ReturnType<typeof readContent>>): string | undefined {
  if (found === undefined) return 'the file is missing';
  if (found.size !== file.add.size) {
    return `expected ${file.add.size} bytes, found ${found.size}: the file was changed or cut off`;
  }
  return found.sha256 === file.sha256 ? undefined : 'its SHA-256 is not the one in the log: the file was changed';
}
