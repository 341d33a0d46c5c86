import type { Clock } from '../../src/core/clock.js';
import type { Table } from '../../src/core/columns/table.js';
import type { Add } from '../../src/lake/delta/actions.js';
import { contentOf } from '../../src/core/io/file-content.js';
import type { NewFile } from '../../src/lake/commit-files.js';
import { Lake } from '../../src/lake/lake.js';
import type { SliceCommit } from '../../src/lake/slices/slice-commit.js';
import { SliceWriter, type CommittedSlice, type Revisions } from '../../src/lake/slices/slice-writer.js';
import type { Store } from '../../src/lake/store/store.js';

const column = (name: string) =>
  ({ name, type: 'text', nullable: false, encoding: 'plain', about: 'A name.' }) as const;

/** A table of one column. */
export const things: Table = { name: 'things', about: 'Things.', columns: [column('id')] };

/** Its derived table. */
export const parts: Table = { name: 'parts', about: 'Parts of things.', columns: [column('part')] };

/** What has changed of it. */
export const changes: Table = {
  name: 'changes',
  about: 'Changes of things.',
  columns: [column('change')],
  appendOnly: true,
};

export const standing: Clock = { now: () => 1_750_000_000_000, sleep: () => Promise.resolve() };

/** The lake of these tables as one more process would have it. */
export function opened(store: Store, clock: Clock = standing): Promise<Lake> {
  return Lake.open(store, [things, parts, changes], clock);
}

/** Rows that are read again are replaced, without a history. */
export const noRevisions: Revisions = {
  compare: () => Promise.resolve({ history: undefined, committed: () => undefined }),
};

/** Commits a slice as a run of the lake does. */
export function committed(
  lake: Lake,
  slice: SliceCommit,
  clock: Clock = standing,
  revisions = noRevisions,
): Promise<CommittedSlice> {
  return new SliceWriter(lake, clock, revisions).commit(slice);
}

export function file(name: string): Add {
  const partitionValues = { account: 'a', month: '2025-06' };
  return { path: `account=a/month=2025-06/${name}`, partitionValues, size: 1, modificationTime: 0, dataChange: true };
}

/** A new file of account `a` with these bytes, or of what is said otherwise. */
export function newFileOf(table: Table, text: string | Uint8Array, more: Partial<NewFile> = {}): NewFile {
  const bytes = Buffer.from(text);
  const { account = 'a' } = more;
  return {
    table,
    account,
    month: '2025-06',
    name: 'file',
    loadKeys: [],
    shared: { pipeline: 'p', account },
    rows: 1,
    stats: '{"numRecords":1}',
    content: contentOf(bytes),
    dataChange: true,
    read: () => Promise.resolve(bytes),
    ...more,
  };
}

/** A slice with a file of each table for one load key. */
export function sliceOf(loadKey: string, more: Partial<SliceCommit> = {}): SliceCommit {
  const { loadKeys = [loadKey] } = more;
  return {
    pipeline: 'p',
    account: 'a',
    name: 'slice',
    loadKeys,
    main: things,
    derived: [parts],
    files: [newFileOf(parts, `parts of ${loadKey}`, { loadKeys }), newFileOf(things, loadKey, { loadKeys })],
    ...more,
  };
}

/** The load key of days of June 2025. */
export function window(start: number, end: number): string {
  const day = (number: number) => new Date(Date.UTC(2025, 5, number)).toISOString();
  return `window/${day(start)}/${day(end)}`;
}
