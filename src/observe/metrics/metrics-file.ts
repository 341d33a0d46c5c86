import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { usageError } from '../../core/errors.js';

/** @throws LedgerlakeError USAGE where the folder of the file isn't there */
export async function checkMetricsFile(path: string): Promise<void> {
  const folder = dirname(path);
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw usageError(`expected --metrics-file in a folder that is there, got ${path}: make ${folder}`);
}

/** Writes metrics to a file whose readers see all of the old ones or all of the new ones. Throws what the disk throws. */
export async function writeMetricsFile(path: string, metrics: string): Promise<void> {
  // The node exporter reads what ends with `.prom` only.
  const part = `${path}.${process.pid}.part`;
  try {
    await writeFile(part, metrics);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
