import { z } from 'zod';
import { isoInstant } from '../../core/numeric/instant.js';
import { shortHash } from '../../core/short-hash.js';
import { parseNote, writeNote, type Store } from '../store/store.js';

/** The folder of a lake with notes of its backups. */
export const backupsFolder = '_backups';

const noteSchema = z.object({
  destination: z.string().max(4000),
  version: z.int().min(0).nullable(),
  at: z.string().max(30),
});

/** A backup that a lake knows of. */
export interface BackupNote {
  /** An absolute path, or a URL. */
  readonly destination: string;
  /** The version of the catalog that it has; null where the first backup to it didn't end, so that it may have any. */
  readonly version: number | null;
  /** When that was copied, in ISO 8601. */
  readonly at: string;
}

/** Each destination has a separate note, so that concurrent backups don't overwrite each other's. */
function notePath(destination: string): string {
  return `${backupsFolder}/${shortHash(destination)}.json`;
}

/** Notes what a backup has; a null version changes nothing where one is noted. `at`: milliseconds since 1970. */
export async function noteBackup(
  store: Store,
  { destination, version, at }: Pick<BackupNote, 'destination' | 'version'> & { readonly at: number },
): Promise<void> {
  const path = notePath(destination);
  if (version === null && (await readNote(store, path)) !== undefined) return;
  const note: BackupNote = { destination, version, at: isoInstant(at) };
  await writeNote(store, path, note);
}

/** The backups of a lake, by destination. Damaged notes are skipped. */
export async function readBackupNotes(store: Store): Promise<readonly BackupNote[]> {
  const notes: BackupNote[] = [];
  for await (const { path } of store.list(backupsFolder)) {
    const note = await readNote(store, path);
    if (note !== undefined) notes.push(note);
  }
  return notes.toSorted((a, b) => (a.destination < b.destination ? -1 : 1));
}

async function readNote(store: Store, path: string): Promise<BackupNote | undefined> {
  return parseNote(await store.read(path), (value) => noteSchema.parse(value));
}
