import type { Add } from '../../lake/delta/actions.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { printable } from '../../core/printable.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { grid } from '../../core/text/width.js';

/** What went from one table. */
export interface ForgottenRows {
  readonly table: string;
  readonly rows: number;
  /** Files that went or were made anew with fewer rows. */
  readonly files: number;
  readonly bytes: number;
}

/** What a forgetting removed. */
export interface Forgotten {
  readonly account: string;
  /** Milliseconds since 1970; undefined: everything. */
  readonly before: number | undefined;
  /** As the user wrote it. */
  readonly lake: string;
  readonly tables: readonly ForgottenRows[];
  /** What else was erased: notes, journals, what dead runs left. */
  readonly leftovers: { readonly files: number; readonly bytes: number };
}

type Files = ReadonlyMap<string, { readonly table: string; readonly add: Add }>;

/** Compares an account's files before and after, table by table. */
export function forgottenRows(before: Files, after: Files): ForgottenRows[] {
  const names = [...new Set([...before.values()].map(({ table }) => table))];
  return names
    .map((table) => {
      const of = (files: Files) => [...files].filter(([, file]) => file.table === table);
      const rows = (files: Files) => of(files).reduce((sum, [, { add }]) => sum + Number(add.tags?.['rows'] ?? 0), 0);
      const bytes = (files: Files) => of(files).reduce((sum, [, { add }]) => sum + add.size, 0);
      return {
        table,
        rows: rows(before) - rows(after),
        files: of(before).filter(([path]) => !after.has(path)).length,
        bytes: bytes(before) - bytes(after),
      };
    })
    .filter(({ files }) => files > 0);
}

/** For people: what went by table, and what was erased in all. */
export function forgottenText({ account, before, lake, tables, leftovers }: Forgotten): string {
  const whose = printable(account);
  const what = before === undefined ? whose : `${whose} before ${isoInstant(before)}`;
  const rows = tables.map(({ table, rows, files, bytes }) => [
    printable(table),
    formatCount(rows),
    formatCount(files),
    formatBytes(Math.max(0, bytes)),
  ]);
  const lines = grid([['table', 'rows', 'files', 'size'], ...rows]).map((line) => `  ${line}`);
  return [
    '',
    rows.length === 0 ? `${printable(lake)} held no rows of ${what}` : `Forgotten in ${printable(lake)}: ${what}`,
    ...(rows.length === 0 ? [] : ['', ...lines]),
    '',
    `Erased beside: ${formatCount(leftovers.files, 'file')} that no table named, ${formatBytes(leftovers.bytes)}; the logs begin anew`,
    '',
  ].join('\n');
}
