import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import { openExistingLake } from '../../src/app/query/lake-files.js';
import { byHyparquet, byParquetWasm, type Cell } from '../core/parquet/foreign-readers.js';
import { referenceRows } from '../reference/flatten.js';
import { instantOf } from '../reference/instants.js';
import { referenceTransactions } from '../reference/transactions.js';
import type { PageChain } from './recorded-pages.js';

/** Rows by table; the keys are column names. */
export type ReferenceTables = ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]>;

/** Files and column chunks that were read, and tables whose rows were compared. */
export interface FilesRead {
  readonly files: number;
  readonly columns: number;
  readonly rows: ReadonlyMap<string, number>;
}

/**
 * Reads every committed file of a lake with hyparquet and parquet-wasm, and holds what they find against the rows that the tables
 * must have. The rows of a table that isn't named are those that both find.
 *
 * @param without columns that aren't compared with the reference
 */
export async function expectFiles(
  lake: string,
  clock: Clock,
  reference: ReferenceTables,
  without: readonly string[] = [],
): Promise<FilesRead> {
  const { tables, store, snapshot } = await openExistingLake(lake, clock, () => undefined);
  const counts = new Map<string, number>();
  let [files, chunks] = [0, 0];
  for (const table of tables) {
    const { name, columns } = table;
    const rows: Cell[][] = [];
    for (const file of snapshot.files(name)) {
      const bytes = await readFile(store.address(file.lakePath));
      const [one, other] = [await byHyparquet(bytes, columns), byParquetWasm(bytes, columns)];
      if (!isDeepStrictEqual(one, other)) expect(one).toEqual(other);
      rows.push(...one);
      files++;
      chunks += columns.length;
    }
    if (rows.length > 0) counts.set(name, rows.length);
    const wanted = reference.get(name);
    if (wanted === undefined) continue;
    const compared = [...columns.entries()].filter(([, column]) => !without.includes(column.name));
    const read = rows.map((row) => JSON.stringify(compared.map(([at]) => row[at] ?? null)));
    const own = wanted.map((row) => JSON.stringify(compared.map(([, column]) => cellOf(row[column.name]))));
    expectSameLines(read, own, `${name} (${compared.map(([, column]) => column.name).join()})`);
  }
  return { files, columns: chunks, rows: counts };
}

/** As many of each; shows some that differ. */
export function expectSameLines(read: readonly string[], wanted: readonly string[], what: string): void {
  const counts = new Map<string, number>();
  for (const line of wanted) counts.set(line, (counts.get(line) ?? 0) + 1);
  for (const line of read) counts.set(line, (counts.get(line) ?? 0) - 1);
  const differing = [...counts].filter(([, count]) => count !== 0).map(([line, count]) => `${count} ${line}`);
  expect(differing.toSorted().slice(0, 6), what).toEqual([]);
}

function cellOf(value: unknown): string | null {
  const of = value as string | bigint | number | boolean | null | undefined;
  return of?.toString() ?? null;
}

/** The rows of the tables of both APIs that the answers come to, by the slow judges of the tests. */
export function referenceTables(chains: readonly PageChain[]): ReferenceTables {
  const tables = new Map<string, Readonly<Record<string, unknown>>[]>();
  const add = (table: string, rows: readonly object[]) => {
    const held = tables.get(table) ?? [];
    for (const row of rows) held.push(row as Readonly<Record<string, unknown>>);
    tables.set(table, held);
  };
  const groups = groupsOf(chains);
  for (const { path, query, pages } of chains) {
    const instant = (name: string) => instantOf(query.get(name) ?? '');
    const groupId = /\/financialEventGroups\/([^/]+)\/financialEvents$/.exec(path)?.[1];
    if (path.endsWith('/finances/v0/financialEvents')) {
      const slice = { windowStart: instant('PostedAfter'), windowEnd: instant('PostedBefore') };
      const { events, entries } = referenceRows(pages, slice);
      add('events', events);
      add('entries', entries);
    } else if (groupId !== undefined) {
      const id = decodeURIComponent(groupId);
      const window = groups.get(id) ?? { windowStart: null, windowEnd: null };
      const { events, entries } = referenceRows(pages, { ...window, idPrefix: `${id}:`, groupId: id });
      add('group_events', events);
      add('group_entries', entries);
    } else if (path.endsWith('/transactions')) {
      const window = { windowStart: instant('postedAfter'), windowEnd: instant('postedBefore') };
      const { transactions, entries } = referenceTransactions(pages, { ...window, requestedOrderId: null });
      add('transactions', transactions);
      add('transaction_entries', entries);
    }
  }
  return tables;
}

interface GroupBody {
  readonly FinancialEventGroupId: string;
  readonly FinancialEventGroupStart?: string;
  readonly FinancialEventGroupEnd?: string;
}

function groupsOf(chains: readonly PageChain[]) {
  const bodies = chains.filter(({ path }) => path.endsWith('/financialEventGroups')).flatMap(({ pages }) => pages);
  return new Map(
    bodies.flatMap((body) => {
      const { payload } = JSON.parse(body) as { payload: { FinancialEventGroupList?: readonly GroupBody[] } };
      return (payload.FinancialEventGroupList ?? []).map(
        (group) =>
          [
            group.FinancialEventGroupId,
            {
              windowStart: instantOf(group.FinancialEventGroupStart ?? ''),
              windowEnd: instantOf(group.FinancialEventGroupEnd ?? ''),
            },
          ] as const,
      );
    }),
  );
}
