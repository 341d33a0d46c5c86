import { expect, test } from 'vitest';
import type { Table } from '../../../src/core/columns/table.js';
import { deltaSchema, newMetaData, withRetention } from '../../../src/lake/delta/table-metadata.js';
import { grownSchema } from '../../../src/lake/catalog/grown-schema.js';
import { groups } from '../../../src/sources/finances/api-v0/event-tables.js';

/** The schema of a stored table with what a program knows of it; undefined where nothing changes. */
function widenedSchema(schemaString: string, table: Table): string | undefined {
  const metaData = { ...newMetaData(table, 0), schemaString };
  return grownSchema({ versions: 1, metaData }, { metaData: { ...metaData, schemaString: deltaSchema(table) } })
    .metaData?.schemaString;
}

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

test('the retention is the property of Delta', () => {
  const hourMs = 3_600_000;
  const retained = withRetention(newMetaData(groups, 0), 24 * hourMs);
  expect(retained.configuration).toEqual({ 'delta.deletedFileRetentionDuration': 'interval 24 hours' });
  expect(withRetention(retained, 0).configuration).toEqual(newMetaData(groups, 0).configuration);
  expect(newMetaData(groups, 0, 2 * hourMs).configuration).toEqual(withRetention(retained, 2 * hourMs).configuration);
});
