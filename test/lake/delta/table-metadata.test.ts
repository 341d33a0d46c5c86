import { expect, test } from 'vitest';
import {
  deltaSchema,
  newMetaData,
  retentionOf,
  widenedSchema,
  withRetention,
} from '../../../src/lake/delta/table-metadata.js';
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

test('the retention is the property of Delta, and 0 where the log says what every log said before there was one', () => {
  const hourMs = 3_600_000;
  const said = (interval: string) =>
    retentionOf({
      ...newMetaData(groups, 0),
      configuration: { 'delta.deletedFileRetentionDuration': interval },
    });
  expect(retentionOf(newMetaData(groups, 0))).toBe(0);
  expect(retentionOf({ ...newMetaData(groups, 0), configuration: {} })).toBe(0);
  expect(said('interval 1 day')).toBe(0);
  expect(said('interval 24 hours')).toBe(24 * hourMs);
  expect(said('interval 1 week')).toBe(7 * 24 * hourMs);
  expect(said('INTERVAL 2 DAYS 90 MINUTES')).toBe(49.5 * hourMs);
  const retained = withRetention(newMetaData(groups, 0), 24 * hourMs);
  expect(retained.configuration).toEqual({ 'delta.deletedFileRetentionDuration': 'interval 24 hours' });
  expect(retentionOf(retained)).toBe(24 * hourMs);
  expect(withRetention(retained, 0).configuration).toEqual(newMetaData(groups, 0).configuration);
  expect(newMetaData(groups, 0, 2 * hourMs).configuration).toEqual(withRetention(retained, 2 * hourMs).configuration);
});
