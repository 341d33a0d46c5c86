import type { Certificate } from './certificate.js';
import type { LogFile } from './log-files.js';
import { mainTable } from './main-tables.js';

/** Files of main tables, and those of derived tables that they name: what was committed together. */
export interface Bundle {
  readonly mains: readonly LogFile[];
  readonly derived: readonly LogFile[];
  /** Whether every derived file that a main file names is in the log. */
  readonly isWhole: boolean;
}

/**
 * Puts together what belongs together. Checks that main and derived files name each other: a derived file that the log
 * lacks, and one that nobody names, are problems (while a run is at work, they may be its own).
 */
export function bundlesOf(files: readonly LogFile[], isRunning: boolean, certificate: Certificate): Bundle[] {
  const derived = new Map(files.filter((file) => file.derived === undefined).map((file) => [file.file, file]));
  const named = new Set<string>();
  const bundles: Bundle[] = [];
  for (const mains of together(files.filter((file) => file.derived !== undefined))) {
    const members: LogFile[] = [];
    let isWhole = true;
    for (const main of mains) {
      certificate.count('derived-files');
      for (const path of main.derived ?? []) {
        const member = derived.get(path);
        if (member === undefined) {
          isWhole = false;
          const table = mainTable(main.delta.schema)?.entries ?? main.table;
          const place = { table, file: path, slice: main.slice };
          const kind = isRunning ? 'note' : 'lake';
          certificate.add('derived-files', kind, place, `${main.file} names it, and its table's log does not`);
        } else if (!named.has(path)) {
          certificate.count('derived-files');
          members.push(member);
        }
        named.add(path);
      }
    }
    bundles.push({ mains, derived: members, isWhole });
  }
  for (const file of derived.values()) {
    if (named.has(file.file)) continue;
    certificate.count('derived-files');
    if (isRunning) certificate.add('derived-files', 'note', file, 'no slice names it; it may belong to a running run');
    else certificate.add('derived-files', 'lake', file, 'no slice names it, and readers of Delta tables see it');
  }
  return bundles;
}

/** Main files that share a derived file, as those of one batch of orders do, stand together. */
function together(mains: readonly LogFile[]): LogFile[][] {
  const sets = new Map<LogFile, LogFile[]>();
  const byPath = new Map<string, LogFile>();
  for (const main of mains) {
    let own = [main];
    for (const path of main.derived ?? []) {
      const other = byPath.get(path);
      const set = other === undefined ? undefined : sets.get(other);
      if (set !== undefined && set !== own) {
        own = [...set, ...own];
        for (const member of own) sets.set(member, own);
      }
      byPath.set(path, main);
    }
    sets.set(main, own);
    for (const member of own) sets.set(member, own);
  }
  return [...new Set(sets.values())];
}
