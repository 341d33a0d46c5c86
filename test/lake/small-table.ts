import type { Action, Add } from '../../src/lake/delta/actions.js';
import type { Clock } from '../../src/core/clock.js';
import type { Table } from '../../src/core/columns/table.js';
import { DeltaTable } from '../../src/lake/delta/delta-table.js';
import type { Store } from '../../src/lake/store/store.js';

/** A table of one column. */
export const things: Table = {
  name: 'things',
  about: 'Things.',
  columns: [{ name: 'id', type: 'text', nullable: false, encoding: 'plain', about: 'Which thing.' }],
};

export const standing: Clock = { now: () => 1_750_000_000_000, sleep: () => Promise.resolve() };

/** The table as one more process would have it. */
export async function opened(store: Store): Promise<DeltaTable> {
  const table = new DeltaTable(things, store, standing);
  await table.refresh();
  return table;
}

export function file(name: string): Add {
  const partitionValues = { account: 'a', month: '2025-06' };
  return { path: `account=a/month=2025-06/${name}`, partitionValues, size: 1, modificationTime: 0, dataChange: true };
}

export function adding(name: string): readonly Action[] {
  return [{ add: file(name) }, { txn: { appId: `ledgerlake/p/a/${name}`, version: 1 } }];
}

/** Names of the table's files and transactions, in order. */
export function contents({ snapshot }: DeltaTable): { version: number; files: string[]; txns: string[] } {
  return {
    version: snapshot.version,
    files: [...snapshot.files.keys()].map((path) => path.replace(/.*\//, '')).toSorted(),
    txns: [...snapshot.txns.keys()].map((id) => id.replace(/.*\//, '')).toSorted(),
  };
}

export function commitFile(version: number): string {
  return `things/_delta_log/${String(version).padStart(20, '0')}.json`;
}

export function checkpointFile(version: number): string {
  return `things/_delta_log/${String(version).padStart(20, '0')}.checkpoint.parquet`;
}

export const hintFile = 'things/_delta_log/_last_checkpoint';
