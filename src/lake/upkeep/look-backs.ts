import { isoInstant } from '../../core/numeric/instant.js';
import { isObject, type Fields } from '../delta/actions.js';
import type { Store } from '../store/store.js';
import { NoteFolder } from './note-folder.js';

/** When each look-back was last done: milliseconds since 1970, by pipeline and days. */
export type LookBacks = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** One note for each account, by its name. */
export const lookBackNotes = new NoteFolder('_sync', (value) => members(members(value)['look_backs']));

/**
 * Notes look-backs. The note is disposable: without it, a long look-back runs once more than needed.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written
 */
export async function writeLookBacks(store: Store, account: string, lookBacks: LookBacks): Promise<void> {
  const pipelines = Object.fromEntries(
    [...lookBacks].map(([pipeline, done]) => [
      pipeline,
      Object.fromEntries([...done].map(([days, at]) => [String(days), isoInstant(at)])),
    ]),
  );
  await lookBackNotes.write(store, account, { look_backs: pipelines });
}

/**
 * Reads the note, without the entries that are invalid.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read
 */
export async function readLookBacks(store: Store, account: string): Promise<LookBacks> {
  const noted = await lookBackNotes.read(store, account);
  return new Map(
    Object.entries(noted ?? {}).map(([pipeline, done]) => {
      const instants = Object.entries(members(done)).map(([days, at]): [number, number] => [
        Number(days),
        typeof at === 'string' ? Date.parse(at) : Number.NaN,
      ]);
      return [pipeline, new Map(instants.filter(([days, at]) => days > 0 && !Number.isNaN(at)))];
    }),
  );
}

function members(value: unknown): Fields {
  return isObject(value) ? value : {};
}
