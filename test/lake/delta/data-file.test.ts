import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addsOf } from '../../../src/lake/commit-files.js';
import type { Add } from '../../../src/lake/delta/actions.js';
import { DataFile } from '../../../src/lake/delta/data-file.js';
import { newFileOf, things } from '../small-table.js';

const sum = fc.integer().map((units) => `${units}.000000`);
const instant = fc.option(fc.integer());
const described = fc.record({
  account: fc.string(),
  month: fc.string(),
  dataChange: fc.boolean(),
  content: fc.record({ size: fc.nat(), sha256: fc.string() }),
  rows: fc.nat(),
  stats: fc.constant('{"nullCount":{"sku":0},"minValues":{"sku":"a"}}'),
  shared: fc.record({ pipeline: fc.string(), custom: fc.string() }),
  loadKeys: fc.array(fc.string()),
  net: fc.option(fc.dictionary(fc.string(), sum, { noNullPrototype: true }), { nil: undefined }),
  groups: fc.option(fc.array(fc.record({ id: fc.string(), start: instant, end: instant })), { nil: undefined }),
});

test('a file is read back from its commit as it was described', () => {
  fc.assert(
    fc.property(described, (told) => {
      const { content, rows, account, month, shared, loadKeys, net, groups } = told;
      const written = newFileOf(things, '', told);
      const commit = { operation: 'WRITE', main: things, files: [written], replaced: () => undefined };
      const add = JSON.parse(JSON.stringify(addsOf(commit, '0-a', () => 7, 0).get(written))) as Add;
      const file = new DataFile(add, 'events');
      const path = `account=${account}/month=${month}/file-0-a-7.parquet`;
      expect(file).toMatchObject({ path, account, month, rows, shared, loadKeys, sha256: content.sha256 });
      expect([file.pipeline, file.net, file.groups, file.main]).toEqual([shared.pipeline, net, groups, undefined]);
      expect(file.columnStatistics('sku')).toEqual({ least: 'a', greatest: undefined, hasNoNull: true });
      // A commit and a checkpoint have it as it was.
      expect(JSON.stringify(file)).toBe(JSON.stringify(add));
    }),
  );
});

test('what another program says of a file under a name of this one says nothing', () => {
  const add = { path: 'x', partitionValues: { account: 'a' }, size: 1, modificationTime: 0, dataChange: true };
  const foreign = { ...add, account: 'b', rows: 7, more: true };
  const file = new DataFile(foreign, 'events');
  expect([file.account, file.rows, JSON.stringify(file)]).toEqual(['a', 0, JSON.stringify({ ...add, more: true })]);
});
