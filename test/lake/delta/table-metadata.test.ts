import { expect, test } from 'vitest';
import { deltaSchema, widenedSchema } from '../../../src/lake/delta/table-metadata.js';
import { groups } from '../../../src/sources/finances/model/tables.js';

test('a column that may be null by now becomes nullable in the log of an older table, and nothing else changes', () => {
  const older = {
    ...groups,
    columns: groups.columns.map((column) => ({ ...column, nullable: column.name !== 'group_id' && column.nullable })),
  };
  const widened = widenedSchema(deltaSchema(older), groups);
  expect(widened).toBe(deltaSchema(groups));
  expect(deltaSchema(groups)).toContain('{"name":"group_id","type":"string","nullable":true');
  expect(widenedSchema(deltaSchema(groups), groups)).toBeUndefined();
  // Never the other way round: older files may hold nulls.
  expect(widenedSchema(deltaSchema(groups), older)).toBeUndefined();
});
