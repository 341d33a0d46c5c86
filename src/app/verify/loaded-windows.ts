import type { Lake } from '../../lake/lake.js';
import { parseImportedKey } from '../../lake/loads/imported-days.js';
import { dayMs, dayStart, monthOf, type Window } from '../../core/windows.js';
import type { Certificate, Place } from './certificate.js';
import { mainTable, mainTablesOf, type MainTable } from './main-tables.js';
import type { LogFile } from './log-files.js';

/** A window that was read. */
export interface ReadWindow extends Window {
  readonly unit: string;
}

/** The windows that a pipeline has read for an account, and the units of windows that are none. */
export function readWindows(lake: Lake, { pipeline, table }: MainTable, account: string): (ReadWindow | string)[] {
  return [...lake.loadKeys(pipeline, table, account).keys()].map((unit) => {
    const window = windowOf(unit);
    return window === undefined ? unit : { ...window, unit };
  });
}

/** The window that a unit names, in milliseconds since 1970; undefined where it names none. */
export function windowOf(unit: string): Window | undefined {
  const [, start = '', end = ''] = /^window\/([^/]+)\/([^/]+)$/.exec(unit) ?? [];
  const window = { start: Date.parse(start), end: Date.parse(end) };
  return window.start < window.end ? window : undefined;
}

/** Whether a window lies within one UTC month. */
export function isWithinMonth({ start, end }: Window): boolean {
  return monthOf(start) === monthOf(end - 1) && end - start <= 31 * dayMs;
}

/** Checks that what was read or imported doesn't overlap, keeps to its month, and covers every slice that has a file. */
export function checkWindows(
  lake: Lake,
  accounts: Iterable<string>,
  files: readonly LogFile[],
  certificate: Certificate,
): void {
  const add = (place: Place, problem: string) => {
    certificate.add('windows', 'lake', place, problem);
  };
  for (const account of accounts) {
    for (const main of mainTablesOf(lake)) {
      const filesOf = (unit: string) =>
        files.find((file) => file.table === main.table && file.account === account && file.units.includes(unit))?.file;
      const place = (unit: string): Place => ({ table: main.table, file: filesOf(unit) ?? '', slice: unit });
      if (main.unit !== 'window') {
        certificate.count('windows', lake.loadKeys(main.pipeline, main.table, account).size);
        continue;
      }
      let before: ReadWindow | undefined;
      const windows: ReadWindow[] = [];
      for (const window of readWindows(lake, main, account)) {
        certificate.count('windows');
        if (typeof window !== 'string') {
          windows.push(window);
          continue;
        }
        const day = parseImportedKey(window);
        if (day === undefined) add(place(window), `expected a window of two instants for ${account}`);
        else windows.push({ ...day, unit: window });
        if (day !== undefined && dayStart(day.start) !== dayStart(day.end - 1)) {
          add(place(window), `the imported rows of ${account} cross the end of a day`);
        }
      }
      for (const window of windows.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
        if (!isWithinMonth(window)) add(place(window.unit), `the window of ${account} crosses the end of a month`);
        if (before !== undefined && window.start < before.end) {
          add(place(window.unit), `the window of ${account} overlaps ${before.unit}: rows may stand twice`);
        }
        if (before === undefined || window.end > before.end) before = window;
      }
    }
  }
  const read = new Map<string, ReadonlySet<string>>();
  for (const file of files) {
    if (mainTable(file.delta.schema) === undefined) continue;
    const { pipeline, table, account } = file;
    const key = `${table} ${pipeline} ${account}`;
    const units = read.get(key) ?? new Set(lake.loadKeys(pipeline, table, account).keys());
    read.set(key, units);
    const unread = file.units.find((unit) => !units.has(unit));
    if (unread !== undefined) add(file, `the log does not say that ${unread} was read`);
  }
}
