import { loadKeyFor, spanIn, type LoadKey } from '../catalog/load-key.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { LoadKeyWindows } from './load-keys.js';
import { dayMs, dayStart, joined, type Window } from '../../core/windows.js';
import { isoInstant } from '../../core/numeric/instant.js';

/**
 * The load key of the imported rows of a span of whole UTC days. It doesn't count as a loaded window: saved pages may lack rows of
 * these days.
 */
export function importedKey({ start, end }: Window): string {
  return loadKeyFor('imported', `${isoInstant(start)}/${isoInstant(end)}`);
}

/** The UTC day of an instant in milliseconds since 1970. */
export function dayOf(instant: number): Window {
  const start = dayStart(instant);
  return { start, end: start + dayMs };
}

/** The days with imported rows of a pipeline and account, in order. Rows that may be of several days are of none. */
export function importedDays(snapshot: Snapshot, pipeline: string, account: string): readonly Window[] {
  return days.of(snapshot.keysOf(account, pipeline));
}

const days = new LoadKeyWindows((loadKey) => {
  const span = spanIn('imported', loadKey);
  return span !== undefined && span.end - span.start === dayMs ? span : undefined;
});

/** The windows among load keys that were read from the API, joined. */
export function loadedOf(keys: Iterable<LoadKey>): Window[] {
  return joined([...keys].flatMap(({ origin, window }) => (origin === 'api' && window !== undefined ? [window] : [])));
}
