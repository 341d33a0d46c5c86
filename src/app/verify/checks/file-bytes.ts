import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readContent } from '../../../lake/files/local-file.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import type { CheckContext, CheckDefinition } from '../common/check.js';
import type { CheckedFile } from '../common/checked-files.js';

export const fileBytesCheck: CheckDefinition = {
  name: 'file-bytes',
  about: 'each file has the size and SHA-256 of the log',
  counts: 'files',
  remedy: damagedFileRemedy,
  verdict: 'file',
  bytes: hasItsBytes,
};

/**
 * Reads a file of the lake and compares its size and hash with the log; a file that isn't on a local disk is copied to its path. False
 * where they differ, which is a problem, and where an active run has replaced the file meanwhile, which is none.
 */
async function hasItsBytes(checked: CheckedFile, { lake, certificate }: CheckContext): Promise<boolean> {
  const { file, path, schema, dataFile } = checked;
  const { store } = lake;
  certificate.count(fileBytesCheck);
  const copy = store.localPath(file) === undefined ? path : undefined;
  if (copy !== undefined) await mkdir(dirname(copy), { recursive: true });
  const found = await readContent(store, file, { copy });
  if (found?.size === dataFile.size && found.sha256 === dataFile.sha256) return true;
  let fault = 'the file is missing';
  if (found === undefined) {
    // Another writer's commit may have replaced it meanwhile.
    await lake.refresh();
    if (lake.snapshot.file(schema.name, dataFile.path) === undefined) return false;
  } else if (found.size === dataFile.size) fault = 'its SHA-256 is not the one in the log: the file was changed';
  else fault = `expected ${dataFile.size} bytes, found ${found.size}: the file was changed or cut off`;
  const whatToDo = schema.appendOnly === true ? '; restore it from a copy, if there is one' : '';
  certificate.add(fileBytesCheck, 'lake', checked, `${fault}${whatToDo}`);
  return false;
}
