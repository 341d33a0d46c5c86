import { join } from 'node:path';
import type { Database } from '../../../src/core/duckdb/connection.js';
import {
  derivedTableOf,
  hasSameEntries,
  rederivedEntries,
  type RederivedEntries,
  type StoredEntries,
  type StoredEventFile,
} from '../../../src/app/maintenance/rederived-entries.js';
import { defaultLimits } from '../../../src/lake/files/workspace.js';
import { temporaryFolder } from '../lake-run.js';

/** A file of events whose commit has these net sums, as a thread is asked for its entries. */
export async function storedEvents(
  pipeline: string,
  file: Uint8Array,
  stored: StoredEntries | undefined,
): Promise<StoredEventFile> {
  const folder = join(await temporaryFolder(), 'written');
  return {
    pipeline,
    account: '',
    loadKeys: [],
    size: file.length,
    file,
    stored,
    rawBytes: defaultLimits.rawBytes,
    folder,
  };
}

/** A file's entries, derived again, and by what they are the same as the stored ones; undefined where they are others. */
export async function comparedEntries(
  database: Database,
  pipeline: string,
  file: Uint8Array,
  stored: StoredEntries,
  signal?: AbortSignal,
): Promise<RederivedEntries & { readonly sameBy: 'bytes' | 'rows' | undefined }> {
  const derived = derivedTableOf(pipeline);
  const again = await rederivedEntries(derived, await storedEvents(pipeline, file, stored), signal);
  if (again.files === undefined) return { ...again, sameBy: 'bytes' };
  return { ...again, sameBy: (await hasSameEntries(database, derived.table, stored, again)) ? 'rows' : undefined };
}
