import * as fc from 'fast-check';
import type { Add } from '../../../src/lake/delta/actions.js';
import { removedFile, type Change, type TableChange } from '../../../src/lake/catalog/change.js';
import type { CommitHeader } from '../../../src/lake/catalog/commit.js';
import type { LoadKey } from '../../../src/lake/catalog/load-key.js';

const number = fc.nat(2 ** 40);
const hash = fc.stringMatching(/^[0-9a-f]{64}$/);
const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,8}$/);
const text = fc.string({ unit: 'binary', maxLength: 12 });
export const accountName = fc.constantFrom('a', 'b', 'shop-1');

export const headers: fc.Arbitrary<CommitHeader> = fc.record({
  version: fc.nat(1000),
  previous: hash,
  run: fc.stringMatching(/^\d{1,4}-[a-z0-9]{1,8}$/),
  nonce: name,
  at: number,
  operation: fc.constantFrom('WRITE', 'OPTIMIZE'),
  minReaderVersion: fc.constant(1),
  minWriterVersion: fc.constant(1),
});

/** A file under a name of its own. */
export const files: fc.Arbitrary<Add> = fc
  .record({
    account: accountName,
    month: fc.constantFrom('2025-01', 'unknown'),
    id: fc.uuid(),
    size: number,
    dataChange: fc.boolean(),
    stats: fc.option(fc.json(), { nil: undefined }),
    tags: fc.dictionary(name, text, { maxKeys: 3 }),
  })
  .map(({ account, month, id, stats, ...rest }) => ({
    path: `account=${account}/month=${month}/${id}.parquet`,
    partitionValues: { month, account },
    modificationTime: rest.size,
    ...rest,
    ...(stats !== undefined && { stats }),
  }));

const windows = fc.record({ start: number, end: number });
const holes = fc.oneof(
  fc.record({ page: fc.nat(9), byte: fc.nat(9), requestId: text }),
  fc.record({ file: text, line: fc.nat(9), byte: fc.nat(9) }),
  fc.record({ refusedAfter: fc.nat(9) }),
);

export const loadKeys: fc.Arbitrary<LoadKey> = fc.record(
  {
    account: accountName,
    pipeline: fc.constantFrom('p', 'q'),
    key: fc.oneof(fc.constantFrom('window/1/2', 'window/2/3'), text),
    readAt: number,
    since: fc.oneof(
      number,
      fc.array(
        fc.tuple(windows, number).map(([window, since]) => ({ ...window, since })),
        { maxLength: 2 },
      ),
    ),
    origin: fc.constantFrom('api', 'import'),
    window: windows,
    holes: fc.array(holes, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ['account', 'pipeline', 'key', 'readAt', 'since', 'origin'] },
);

const metaData = fc.record({
  id: fc.uuid(),
  format: fc.constant({ provider: 'parquet', options: {} }),
  schemaString: fc.constant('{"type":"struct","fields":[{"name":"id","type":"string","nullable":true,"metadata":{}}]}'),
  partitionColumns: fc.constant(['account', 'month']),
  configuration: fc.dictionary(name, text, { maxKeys: 2 }),
});

const tableChanges: fc.Arbitrary<TableChange> = fc.record(
  {
    metaData,
    description: fc.record({ name: text, columns: fc.array(fc.record({ name }), { maxLength: 2 }) }),
    remove: fc.array(
      fc.tuple(files, fc.boolean()).map(([file, dataChange]) => removedFile(file, dataChange)),
      { maxLength: 2 },
    ),
    add: fc.array(files, { maxLength: 3 }),
  },
  { requiredKeys: [] },
);

export const changes: fc.Arbitrary<Change> = fc.record(
  {
    tables: fc.dictionary(name, tableChanges, { maxKeys: 3 }),
    keys: fc.record(
      {
        set: fc.array(loadKeys, { maxLength: 3 }),
        delete: fc.array(
          loadKeys.map(({ account, pipeline, key }) => ({ account, pipeline, key })),
          { maxLength: 2 },
        ),
      },
      { requiredKeys: [] },
    ),
    fence: fc.record(
      { before: fc.nat(9), runs: fc.array(fc.stringMatching(/^\d-[a-z]{3}$/), { maxLength: 2 }) },
      { requiredKeys: [] },
    ),
    deleted: fc.array(
      files.map(({ path }) => `t/${path}`),
      { maxLength: 2 },
    ),
    config: fc.record({ retentionMs: number }, { requiredKeys: [] }),
    forgotten: fc.dictionary(name, fc.option(number), { maxKeys: 2 }),
  },
  { requiredKeys: [] },
);
