import { readWindow } from '../../../engine/slicing/window-slices.js';
import type { Lake } from '../../../lake/lake.js';
import { parseImportedKey } from '../../../lake/loads/imported-spans.js';
import { dayMs, dayStart, monthOf, type Window } from '../../../core/windows.js';
import { loadKeyKindOf, storedPipelines, type StoredPipeline } from '../../coverage/stored-pipelines.js';
import type { CatalogContext, CheckDefinition } from '../common/check.js';
import type { CheckedFile, ProblemLocation } from '../common/checked-files.js';

interface ReadWindow extends Window {
  readonly loadKey: string;
}

/** The windows that a pipeline has read for an account, and the load keys that name none. */
function readWindows(lake: Lake, { name }: StoredPipeline, account: string): (ReadWindow | string)[] {
  return [...lake.snapshot.keysOf(account, name).keys()].map((loadKey) => {
    const window = readWindow(loadKey);
    return window !== undefined && window.start < window.end ? { ...window, loadKey } : loadKey;
  });
}

/** Whether a window lies within one UTC month. */
export function isWithinMonth({ start, end }: Window): boolean {
  return monthOf(start) === monthOf(end - 1) && end - start <= 31 * dayMs;
}

/** The location of an account's load keys: the first file with rows of one. */
export function locationIn(
  files: readonly CheckedFile[],
  { main: { name: table } }: StoredPipeline,
  account: string,
): (loadKey: string) => ProblemLocation {
  return (loadKey) => {
    const holds = (file: CheckedFile) =>
      file.table === table && file.account === account && file.loadKeys.includes(loadKey);
    return { table, file: files.find(holds)?.file ?? '', slice: loadKey, account };
  };
}

export const loadedWindowsCheck: CheckDefinition = {
  name: 'windows',
  about: 'windows read do not overlap, and none crosses a month',
  counts: 'slices',
  takenOut: 'load',
  catalog: checkWindows,
};

/**
 * Checks that windows which were read do not overlap and lie within a month each, that imported spans are whole days, and that
 * every load key of a file is known.
 */
function checkWindows({ lake, accounts, files, certificate }: CatalogContext): void {
  const add = (location: ProblemLocation, problem: string) => {
    certificate.add(loadedWindowsCheck, 'lake', location, problem);
  };
  for (const account of accounts) {
    for (const pipeline of storedPipelines(lake)) {
      const at = locationIn(files, pipeline, account);
      const keys = lake.snapshot.keysOf(account, pipeline.name);
      certificate.count(loadedWindowsCheck, keys.size);
      if (pipeline.slicing.loadKeyKind !== 'window') continue;
      let before: ReadWindow | undefined;
      const read = readWindows(lake, pipeline, account).flatMap((window): ReadWindow[] => {
        if (typeof window !== 'string') return [window];
        const span = parseImportedKey(window);
        if (span === undefined) add(at(window), `expected a window of two instants for ${account}`);
        else if (dayStart(span.start) !== span.start || dayStart(span.end) !== span.end)
          add(at(window), `the span of imported rows of ${account} is no whole days`);
        return [];
      });
      for (const window of read.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
        if (!isWithinMonth(window)) add(at(window.loadKey), `the window of ${account} crosses the end of a month`);
        if (before !== undefined && window.start < before.end) {
          add(at(window.loadKey), `the window of ${account} overlaps ${before.loadKey}: rows may occur twice`);
        }
        if (before === undefined || window.end > before.end) before = window;
      }
    }
  }
  const loadedOf = new Map<string, ReadonlySet<string>>();
  for (const file of files) {
    if (loadKeyKindOf(file.schema) === undefined) continue;
    const {
      table,
      account,
      add: { pipeline },
    } = file;
    const key = `${table} ${pipeline} ${account}`;
    const loaded = loadedOf.get(key) ?? new Set(lake.snapshot.keysOf(account, pipeline).keys());
    loadedOf.set(key, loaded);
    const unread = file.loadKeys.find((loadKey) => !loaded.has(loadKey));
    if (unread !== undefined) add({ ...file, slice: unread }, `the log does not record that ${unread} was read`);
  }
}
