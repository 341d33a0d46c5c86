import { expect, onTestFinished, test } from 'vitest';
import { findDiffering } from '../../../src/app/reconcile/differing-rows.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { groups } from '../../../src/sources/finances/api-v0/event-tables.js';

type Row = readonly [id: string | null, raw: string, ended?: string];

async function differing(held: readonly Row[], incoming: readonly Row[]): Promise<readonly number[]> {
  const { vanished, appeared, differ } = await found(held, incoming);
  return [vanished, appeared, differ];
}

async function found(held: readonly Row[], incoming: readonly Row[]) {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  const text = (value: string | null): string => (value === null ? 'NULL::VARCHAR' : `'${value}'`);
  const query = (rows: readonly Row[]): string =>
    rows
      .map(
        ([id, raw, ended = '2026-01-02']) =>
          `SELECT ${text(id)} AS group_id, '${raw}' AS raw, NULL::TIMESTAMPTZ AS started_at, ` +
          `${text(ended === '' ? null : ended)}::TIMESTAMPTZ AS ended_at`,
      )
      .join(' UNION ALL ');
  const states = { table: groups, stored: query(held), incoming: query(incoming), isKnown: 'true', grows: false };
  return findDiffering(database, states);
}

test('a settlement that was open has grown, one that was closed differs', async () => {
  const before: readonly Row[] = [
    ['open', '1', ''],
    ['closed', '1'],
  ];
  const after: readonly Row[] = [
    ['open', '2'],
    ['closed', '2'],
  ];
  expect(await found(before, after)).toMatchObject({ differ: 1, grown: 1, rows: 1, examples: [{ id: 'closed' }] });
});

test('a group without an id is known by what was received, and hides no other, whichever version wrote it', async () => {
  const others: readonly Row[] = [
    ['a', '1'],
    ['b', '2'],
  ];
  expect(await differing([...others, [null, 'x']], [...others, [null, 'x']])).toEqual([0, 0, 0]);
  expect(await differing([...others, ['', 'x']], [...others, [null, 'x']])).toEqual([0, 0, 0]);
  expect(
    await differing(
      [...others, [null, 'x']],
      [
        ['a', '3'],
        [null, 'y'],
      ],
    ),
  ).toEqual([2, 1, 1]);
  expect(await differing([['a', '1']], [...others, [null, 'x']])).toEqual([0, 2, 0]);
});
