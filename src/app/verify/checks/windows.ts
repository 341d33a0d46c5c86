import { dayStart, monthOf, type Window } from '../../../core/windows.js';
import { spanIn } from '../../../lake/catalog/load-key.js';
import { loadKeyKindOf, storedPipelines } from '../../coverage/stored-pipelines.js';
import type { CatalogContext, CheckDefinition } from '../common/check.js';
import { locationIn, type ProblemLocation } from '../common/checked-files.js';

export const windowsCheck: CheckDefinition = {
  name: 'windows',
  about: 'windows read do not overlap, and none crosses a month',
  counts: 'slices',
  takenOut: 'load',
  catalog: checkWindows,
};

interface ReadWindow extends Window {
  readonly loadKey: string;
}

/**
 * Checks that windows which were read do not overlap and lie within a month each, that imported spans are whole days, and that
 * every load key of a file is known.
 */
function checkWindows({ lake, accounts, files, certificate }: CatalogContext): void {
  const add = (location: ProblemLocation, problem: string) => {
    certificate.add(windowsCheck, 'lake', location, problem);
  };
  for (const account of accounts) {
    for (const pipeline of storedPipelines(lake)) {
      const at = locationIn(files, pipeline, account);
      const keys = lake.snapshot.keysOf(account, pipeline.name);
      certificate.count(windowsCheck, keys.size);
      if (pipeline.slicing.loadKeyKind !== 'window') continue;
      let before: ReadWindow | undefined;
      const read = [...keys.keys()].flatMap((loadKey): ReadWindow[] => {
        const window = spanIn('window', loadKey);
        if (window !== undefined && window.start < window.end) return [{ ...window, loadKey }];
        const span = spanIn('imported', loadKey);
        if (span === undefined) add(at(loadKey), `expected a window of two instants for ${account}`);
        else if (dayStart(span.start) !== span.start || dayStart(span.end) !== span.end)
          add(at(loadKey), `the span of imported rows of ${account} is no whole days`);
        return [];
      });
      for (const window of read.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
        if (monthOf(window.start) !== monthOf(window.end - 1))
          add(at(window.loadKey), `the window of ${account} crosses the end of a month`);
        if (before !== undefined && window.start < before.end) {
          add(at(window.loadKey), `the window of ${account} overlaps ${before.loadKey}: rows may occur twice`);
        }
        if (before === undefined || window.end > before.end) before = window;
      }
    }
  }
  for (const file of files) {
    if (loadKeyKindOf(file.schema) === undefined) continue;
    const loaded = lake.snapshot.keysOf(file.account, file.dataFile.pipeline);
    const unread = file.loadKeys.find((loadKey) => !loaded.has(loadKey));
    if (unread !== undefined) add({ ...file, loadKey: unread }, `the log does not record that ${unread} was read`);
  }
}
