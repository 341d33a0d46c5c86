import { z } from 'zod';
import { isoInstant } from '../../core/numeric/instant.js';
import { shortHash } from '../../core/short-hash.js';
import { lakeFolder } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import { NoteFolder } from './note-folder.js';

const noteSchema = z.object({
  destination: z.string().max(4000),
  lake: z.string().max(4000).exactOptional(),
  version: z.int().min(0).nullable(),
  at: z.string().max(30),
});

/** One note for each destination, by its hash, so that concurrent backups don't overwrite each other's. */
export const backupNotes = new NoteFolder('_backups', (value): BackupNote => noteSchema.parse(value));

/** A backup that a lake knows of; in a backup, that it is one. */
export interface BackupNote {
  /** An absolute path, or a URL. */
  readonly destination: string;
  /** The lake that is copied, in the same form. */
  readonly lake?: string;
  /** The version of the catalog that it has; null where the first backup to it didn't end, so that it may have any. */
  readonly version: number | null;
  /** When that was copied, in ISO 8601. */
  readonly at: string;
}

/** A location as it is the same everywhere on this machine. */
export function placeOf(location: string): string {
  return lakeFolder(location) ?? location.replace(/\/+$/, '');
}

/** Notes what a backup has; a null version changes nothing where one is noted. `at`: milliseconds since 1970. */
export async function noteBackup(
  store: Store,
  { at, ...backup }: Omit<BackupNote, 'at'> & { readonly at: number },
): Promise<void> {
  const name = shortHash(backup.destination);
  if (backup.version === null && (await backupNotes.read(store, name)) !== undefined) return;
  const note: BackupNote = { ...backup, at: isoInstant(at) };
  await backupNotes.write(store, name, note);
}

/** The backups of a lake, by destination. Damaged notes are skipped. */
export async function readBackupNotes(store: Store): Promise<readonly BackupNote[]> {
  const notes: BackupNote[] = [];
  for await (const { note } of backupNotes.all(store)) if (note !== undefined) notes.push(note);
  return notes.toSorted((a, b) => (a.destination < b.destination ? -1 : 1));
}

/**
 * The lake of which the one at a location is a backup; undefined for another lake, and where a run has committed to the backup.
 *
 * @param version its newest version
 */
export async function backedUpLake(store: Store, location: string, version: number): Promise<string | undefined> {
  const place = placeOf(location);
  const note = await backupNotes.read(store, shortHash(place));
  return note?.destination === place && (note.version ?? -1) >= version ? note.lake : undefined;
}
