import { join } from 'node:path';
import type { StoredEntries, StoredEvents } from '../../../src/app/maintenance/rederived-entries.js';
import { defaultLimits } from '../../../src/lake/files/workspace.js';
import { temporaryFolder } from '../lake-run.js';

/** A file of events whose commit has these net sums, as a thread is asked for its entries. */
export async function storedEvents(
  pipeline: string,
  file: Uint8Array,
  stored: StoredEntries | undefined,
): Promise<StoredEvents> {
  const about = { path: '', partitionValues: {}, size: file.length, modificationTime: 0, dataChange: true };
  const folder = join(await temporaryFolder(), 'written');
  return { pipeline, main: about, file, stored, rawBytes: defaultLimits.rawBytes, folder };
}
