import { readCallSettings } from './settings.js';
import { usageError } from '../core/errors.js';
import type { Settings } from '../app/configuration/settings.js';
import type { BackupSummary, RestoreSummary } from '../app/results.js';
import { callKinds, checkOptions, type CallOptions } from './options.js';
import { runTask } from './task.js';

/**
 * Copies the newest version of a lake to a place that is empty or has an earlier backup of it, as `ledgerlake backup` does. Runs may
 * commit meanwhile. The call after one that was stopped continues.
 *
 * @param destination its location, written as that of a lake
 * @throws LedgerlakeError USAGE where the place has something else; LAKE_STORE or LAKE_LOG where a file of the lake is damaged;
 * LAKE_CONFLICT where a run is active on the backup; STOPPED
 */
export async function backup(destination: string, options: CallOptions = {}): Promise<BackupSummary> {
  const settings = await readCopyOptions('backup', destination, options);
  const { backup: copy } = await import('../app/backup/backup.js');
  return runTask(options, async (context) => (await copy({ ...settings, destination }, context)).summary);
}

/**
 * Copies the newest version of a backup to a lake that is empty, as `ledgerlake restore` does, or continues an interrupted restore.
 *
 * @param source its location, written as that of a lake
 * @throws as {@link backup}
 */
export async function restore(source: string, options: CallOptions = {}): Promise<RestoreSummary> {
  const settings = await readCopyOptions('restore', source, options);
  const { restore: copy } = await import('../app/backup/backup.js');
  return runTask(options, async (context) => (await copy({ ...settings, source }, context)).summary);
}

/** The settings of a copy. Throws a USAGE error for invalid options. */
async function readCopyOptions(subject: string, place: string, options: CallOptions): Promise<Settings> {
  if (typeof place !== 'string' || place === '') {
    throw usageError(`expected the place of ${subject} to be a text that is not empty`);
  }
  checkOptions(subject, options, callKinds);
  return readCallSettings(options);
}
