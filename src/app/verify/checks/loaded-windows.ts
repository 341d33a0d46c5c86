import { readWindow } from '../../../engine/slicing/window-slices.js';
import type { Lake } from '../../../lake/lake.js';
import { parseImportedKey } from '../../../lake/loads/imported-spans.js';
import { holeText } from '../../unread-events.js';
import { dayMs, dayStart, monthOf, type Window } from '../../../core/windows.js';
import type { CertificateBuilder, ProblemLocation } from './certificate.js';
import { loadKeyKindOf, storedPipelines, type StoredPipeline } from '../../coverage/stored-pipelines.js';
import type { LogFile } from './log-files.js';

interface ReadWindow extends Window {
  readonly loadKey: string;
}

/** The windows that a pipeline has read for an account, and the load keys that name none. */
function readWindows(lake: Lake, { name }: StoredPipeline, account: string): (ReadWindow | string)[] {
  return [...lake.loadKeys(name, account).keys()].map((loadKey) => {
    const window = readWindow(loadKey);
    return window !== undefined && window.start < window.end ? { ...window, loadKey } : loadKey;
  });
}

/** Whether a window lies within one UTC month. */
export function isWithinMonth({ start, end }: Window): boolean {
  return monthOf(start) === monthOf(end - 1) && end - start <= 31 * dayMs;
}

/**
 * Checks that windows which were read do not overlap and lie within a month each, that imported spans are whole days, and that
 * every load key of a file is known; lists the events that could not be read.
 */
export function checkWindows(
  lake: Lake,
  accounts: Iterable<string>,
  files: readonly LogFile[],
  certificate: CertificateBuilder,
): void {
  const add = (location: ProblemLocation, problem: string) => {
    certificate.add('windows', 'lake', location, problem);
  };
  for (const account of accounts) {
    for (const pipeline of storedPipelines(lake)) {
      const table = pipeline.main.name;
      const at = (loadKey: string): ProblemLocation => {
        const holds = (file: LogFile) =>
          file.table === table && file.account === account && file.loadKeys.includes(loadKey);
        return { table, file: files.find(holds)?.file ?? '', slice: loadKey, account };
      };
      const keys = lake.loadKeys(pipeline.name, account);
      certificate.count('windows', keys.size);
      certificate.count('unread-events', keys.size);
      for (const [key, { holes = [] }] of keys) {
        for (const hole of holes) certificate.add('unread-events', 'note', at(key), `left out: ${holeText(hole)}`);
      }
      if (pipeline.loadKeyKind !== 'window') continue;
      let before: ReadWindow | undefined;
      const windows = readWindows(lake, pipeline, account).flatMap((window): ReadWindow[] => {
        if (typeof window !== 'string') return [window];
        const span = parseImportedKey(window);
        if (span === undefined) add(at(window), `expected a window of two instants for ${account}`);
        else if (dayStart(span.start) !== span.start || dayStart(span.end) !== span.end)
          add(at(window), `the span of imported rows of ${account} is no whole days`);
        return [];
      });
      for (const window of windows.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
        if (!isWithinMonth(window)) add(at(window.loadKey), `the window of ${account} crosses the end of a month`);
        if (before !== undefined && window.start < before.end) {
          add(at(window.loadKey), `the window of ${account} overlaps ${before.loadKey}: rows may occur twice`);
        }
        if (before === undefined || window.end > before.end) before = window;
      }
    }
  }
  const read = new Map<string, ReadonlySet<string>>();
  for (const file of files) {
    if (loadKeyKindOf(file.delta.schema) === undefined) continue;
    const { pipeline, table, account } = file;
    const key = `${table} ${pipeline} ${account}`;
    const loaded = read.get(key) ?? new Set(lake.loadKeys(pipeline, account).keys());
    read.set(key, loaded);
    const unread = file.loadKeys.find((loadKey) => !loaded.has(loadKey));
    if (unread !== undefined) add({ ...file, slice: unread }, `the log does not record that ${unread} was read`);
  }
}
