import type { Change, TableChange } from '../../src/lake/catalog/change.js';
import type { LoadKey } from '../../src/lake/catalog/load-key.js';
import type { Add } from '../../src/lake/delta/actions.js';

/** Values of a file's entry that no writer has: each in the place of one, and each member of an object that stands for all. */
const oddAdds: Readonly<Record<string, object>> = {
  'size of half a byte': { size: 0.5 },
  'size below zero': { size: -1 },
  'size that no number holds': { size: 1e300 },
  'month that is SQL': { partitionValues: { account: 'shop', month: `x'; COPY (SELECT 1) TO '.bashrc'; --` } },
  'month that is a number': { partitionValues: { account: 'shop', month: 7 } },
  'no month': { partitionValues: { account: 'shop' } },
  'statistics that are no JSON': { stats: '{' },
  'statistics that are null': { stats: 'null' },
  'statistics of other kinds': { stats: '{"minValues":5,"maxValues":"x","nullCount":null,"numRecords":{}}' },
  'statistics that are an object': { stats: {} },
  'bounds out of all time': {
    stats:
      '{"minValues":{"effective_at":"+275760-09-13T00:00:00Z"},"maxValues":{"effective_at":"x"},"nullCount":{"raw":0.5}}',
  },
  'tags that are a list': { tags: [] },
  'modified at no time': { modificationTime: 'x' },
};

const oddTags: Readonly<Record<string, object>> = {
  'rows that are words': { rows: 'many' },
  'rows that no number holds': { rows: '9'.repeat(400) },
  'tags that are numbers': { rows: 5, sha256: 7, loadKeys: {}, main: 3 },
  'load keys that are no list': { loadKeys: '{"a":1}' },
  'load keys that are none': { loadKeys: '[1,null,{}]' },
  'sums that are no JSON': { net: '{', groups: '[' },
  'sums of another shape': { net: '[1]', groups: '{"a":1}' },
  'sums that are words': { net: '{"USD":"x"}', groups: '[{"a":1},null,7]' },
  'spans of no time': { import_spans: '["x/y",7,null]' },
  'hash of nothing': { sha256: '' },
};

const oddMetaData: Readonly<Record<string, object>> = {
  'settings that are none': { configuration: null },
  'retention that is a number': { configuration: { 'delta.deletedFileRetentionDuration': 5 } },
  'retention of ages': { configuration: { 'delta.deletedFileRetentionDuration': `interval ${'9'.repeat(400)} weeks` } },
  'columns of other types': {
    schemaString: '{"fields":[{"name":"a","type":{"type":"struct","fields":[]}},{"name":"b"}]}',
  },
  'columns that are SQL': {
    schemaString: JSON.stringify({
      fields: [{ name: `a" varchar); COPY (SELECT 1) TO '.bashrc'; --`, type: 'string', nullable: true, metadata: {} }],
    }),
  },
  'digits of a number that none has': { schemaString: '{"fields":[{"name":"a","type":"decimal(99999999999,7)"}]}' },
  'created at no time': { createdTime: 'x' },
  'no format': { format: null },
};

const metaData = {
  id: '00000000-0000-4000-8000-000000000000',
  name: 'events',
  format: { provider: 'parquet', options: {} },
  schemaString: '{"type":"struct","fields":[]}',
  partitionColumns: ['account', 'month'],
  configuration: {},
  createdTime: 1,
};

const oddKeys: Readonly<Record<string, object>> = {
  'loaded since no time': { since: 'x' },
  'loaded since spans of nothing': { since: [{ start: 5 }, null] },
  'loaded from nowhere': { origin: '../..' },
  'key that is a path': { key: '../../../outside' },
  'window that ends before it begins': { window: { start: 9e15, end: -9e15 } },
  'holes that are words': { holes: ['x'] },
};

const oddSettings: Readonly<Record<string, object>> = {
  'retention of ages': { config: { retentionMs: 8e18 } },
  'retention below zero': { config: { retentionMs: -1 } },
  'fences that are numbers': { fence: { runs: [7], before: 'x' } },
  'a fence of all runs': { fence: { before: Number.MAX_SAFE_INTEGER } },
  'deleted files outside': { deleted: ['../outside/canary.txt', '/etc/passwd'] },
};

/** Changes to a commit, each to what no writer writes: whoever may write to a lake can. */
export const oddChanges: readonly {
  readonly name: string;
  readonly change: (commit: Change, table: string) => Change;
}[] = [
  ...Object.entries(oddAdds).map(([name, odd]) => ({ name, change: changingAdds((add) => ({ ...add, ...odd })) })),
  ...Object.entries(oddTags).map(([name, odd]) => ({
    name,
    change: changingAdds((add) => ({ ...add, tags: { ...add.tags, ...odd } })),
  })),
  // A table's description comes again with each column that is new.
  ...Object.entries(oddMetaData).map(([name, odd]) => ({
    name,
    change: changingTable((change) => ({ ...change, metaData: { ...metaData, ...odd } })),
  })),
  ...Object.entries(oddKeys).map(([name, odd]) => ({
    name,
    change: ({ keys = {}, ...commit }: Change): Change => ({
      ...commit,
      keys: { ...keys, set: (keys.set ?? []).map((key): LoadKey => ({ ...key, ...odd })) },
    }),
  })),
  ...Object.entries(oddSettings).map(([name, odd]) => ({
    name,
    change: (commit: Change): Change => ({ ...commit, ...odd }),
  })),
];

/** Changes what a commit says of one table. */
export function changingTable(change: (table: TableChange) => TableChange): (commit: Change, table: string) => Change {
  return ({ tables = {}, ...commit }, table) => ({
    ...commit,
    tables: { ...tables, [table]: change(tables[table] ?? {}) },
  });
}

function changingAdds(change: (add: Add) => Add) {
  return changingTable(({ add = [], ...table }) => ({ ...table, add: add.map(change) }));
}
