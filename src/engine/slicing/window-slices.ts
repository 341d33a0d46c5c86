import { loadKeyFor, spanIn } from '../../lake/catalog/load-key.js';
import type { Lake } from '../../lake/lake.js';
import type { Sample } from './volume-estimate.js';
import type { Slice } from '../run/slice-queue.js';
import type { Window } from '../../core/windows.js';
import { LoadKeyWindows } from '../../lake/loads/load-keys.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** A window whose rows have changed since they were read, or whose content is known without a request. */
export interface ChangedWindow extends Window {
  /** Bodies of API pages with the window's present content; left out: the API is read. */
  readonly bodies?: () => Promise<readonly Uint8Array[]>;
}

/** A slice that reads a window of dates. */
export interface WindowSlice extends Slice {
  readonly window: Window;
  /** Bodies that replace the API's answers; left out: the API is read. */
  readonly bodies?: ChangedWindow['bodies'];
  /** The parts in which its window, too large for one chain of pages, is read; left out: it is read whole. */
  readonly halves?: readonly Window[];
}

/** The windows that a pipeline has loaded for an account, without overlaps. */
export function loadedWindows(
  { snapshot }: Pick<Lake, 'snapshot'>,
  pipeline: string,
  account: string,
): readonly Window[] {
  return windows.of(snapshot.keysOf(account, pipeline));
}

const windows = new LoadKeyWindows((key) => spanIn('window', key));

/** The results of the windows that a pipeline has loaded for an account. */
export function loadedSamples(lake: Lake, pipeline: string, table: string, account: string): Sample[] {
  const empty = new Set(lake.snapshot.keysOf(account, pipeline).keys());
  const samples = lake.snapshot.filesOf(table, account, pipeline).flatMap((file): Sample[] => {
    const keys = file.loadKeys;
    for (const loadKey of keys) empty.delete(loadKey);
    const windows = keys.flatMap((loadKey) => spanIn('window', loadKey) ?? []);
    const results = file.rows;
    if (windows.length === 0 || !Number.isFinite(results)) return [];
    // A merged file may also contain imported days.
    const spans = [...windows, ...keys.flatMap((loadKey) => spanIn('imported', loadKey) ?? [])];
    const covered = spans.reduce((sum, { start, end }) => sum + end - start, 0);
    return windows.map((window) => ({ window, results: (results * (window.end - window.start)) / covered }));
  });
  return [
    ...samples,
    ...[...empty].flatMap((loadKey) => spanIn('window', loadKey) ?? []).map((window) => ({ window, results: 0 })),
  ];
}

/** The slice of a window; `takesOver` are loaded windows within it. */
export function windowSlice(window: Window, takesOver: readonly Window[] = []): WindowSlice {
  const start = isoInstant(window.start);
  const end = isoInstant(window.end);
  return {
    window,
    name: `${compact(start)}-${compact(end)}`,
    label: `${start}/${end}`,
    loadKeys: [windowKey(window)],
    takesOver: takesOver.map(windowKey),
  };
}

/** The load key of a window. */
export function windowKey({ start, end }: Window): string {
  return loadKeyFor('window', `${isoInstant(start)}/${isoInstant(end)}`);
}

/** `20250304T050607Z`; milliseconds only where they aren't 0. */
function compact(iso: string): string {
  return iso.replace('.000Z', 'Z').replace(/[-:]/g, '');
}
