import { expect } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import { lakeTables } from '../../src/app/query/lake-files.js';
import type { SqlColumn } from '../../src/core/duckdb/views.js';
import { database } from '../app/lake-run.js';
import { clickhouseLines } from './clickhouse.js';

const partitions: readonly SqlColumn[] = ['account', 'month'].map((name) => ({ name, type: 'VARCHAR' }));
const nothing = '␀';

/** A column's value as a text that is the same in both, without any rounding: microseconds and millionths as integers. */
const texts: Readonly<
  Record<string, { readonly clickhouse: (c: string) => string; readonly duckdb: (c: string) => string }>
> = {
  VARCHAR: { clickhouse: (c) => c, duckdb: (c) => c },
  'TIMESTAMP WITH TIME ZONE': {
    clickhouse: (c) => `toString(toUnixTimestamp64Micro(toDateTime64(${c}, 6, 'UTC')))`,
    duckdb: (c) => `epoch_us(${c})::VARCHAR`,
  },
  'DECIMAL(18,6)': {
    clickhouse: (c) => `toString(toInt128(toDecimal128(${c}, 6) * 1000000))`,
    duckdb: (c) => `(${c}::DECIMAL(38,6) * 1000000)::HUGEINT::VARCHAR`,
  },
  BIGINT: { clickhouse: (c) => `toString(${c})`, duckdb: (c) => `${c}::VARCHAR` },
  INTEGER: { clickhouse: (c) => `toString(${c})`, duckdb: (c) => `${c}::VARCHAR` },
};

/**
 * Holds every row and column that ClickHouse reads of a lake against what DuckDB does, and some sums beside them that say
 * more where they differ. Rows that were compared, by table.
 *
 * @param source where ClickHouse finds a table: `deltaLakeLocal('…')`
 */
export async function expectSameLake(
  lake: string,
  clock: Clock,
  source: (table: string) => string,
): Promise<Map<string, number>> {
  const duckdb = await database(lake, clock);
  const held: { name: string; sql: { clickhouse: string; duckdb: string }[] }[] = [];
  for (const { name, columns } of lakeTables) {
    const [row] = await duckdb.rows(`SELECT count(*) AS n FROM ${name}`);
    if (Number(row?.['n']) === 0) continue;
    const all = [...columns.filter((column) => !partitions.some((own) => own.name === column.name)), ...partitions];
    held.push({ name, sql: [sumsOf(name, all, source), rowsOf(name, all, source)] });
  }
  const read = await clickhouseLines(held.flatMap(({ sql }) => sql.map(({ clickhouse }) => clickhouse)));
  const counts = new Map<string, number>();
  for (const [at, { name, sql }] of held.entries()) {
    for (const [nth, { duckdb: own }] of sql.entries()) {
      const expected = (await duckdb.rows(own)).map(({ line }) => String(line)).toSorted();
      expect(read[at * sql.length + nth]?.toSorted(), name).toEqual(expected);
      if (nth === 1) counts.set(name, expected.length);
    }
  }
  return counts;
}

/** Counts, sums of all amounts, and first and last instants, by account, month and currency where there is one. */
function sumsOf(table: string, columns: readonly SqlColumn[], source: (table: string) => string) {
  const keys = columns.map(({ name }) => name).filter((name) => /^(account|month|currency)$/.test(name));
  const figures = (engine: 'clickhouse' | 'duckdb') =>
    columns.flatMap(({ name, type }) => {
      const value = (of: string) => texts[type]?.[engine](of) ?? '';
      if (type === 'DECIMAL(18,6)') return [value(`sum(${name})`)];
      return type === 'TIMESTAMP WITH TIME ZONE' ? [value(`min(${name})`), value(`max(${name})`)] : [];
    });
  const by = `GROUP BY ${keys.join(', ')}`;
  return {
    clickhouse: `SELECT ${lineOf([...keys, 'toString(count())', ...figures('clickhouse')], 'ifNull')} FROM ${source(table)} ${by}`,
    duckdb: `SELECT ${lineOf([...keys, 'count(*)::VARCHAR', ...figures('duckdb')], 'coalesce')} AS line FROM ${table} ${by}`,
  };
}

/** A hash of each row, of all of its columns. */
function rowsOf(table: string, columns: readonly SqlColumn[], source: (table: string) => string) {
  const values = (engine: 'clickhouse' | 'duckdb') =>
    columns.map(({ name, type }) => {
      const text = texts[type];
      if (text === undefined) throw new Error(`no text for ${name} ${type} of ${table}`);
      return text[engine](name);
    });
  return {
    clickhouse: `SELECT lower(hex(MD5(${lineOf(values('clickhouse'), 'ifNull')}))) FROM ${source(table)}`,
    duckdb: `SELECT md5(${lineOf(values('duckdb'), 'coalesce')}) AS line FROM ${table}`,
  };
}

function lineOf(values: readonly string[], orElse: string): string {
  return values.map((value) => `${orElse}(${value}, '${nothing}')`).join(` || '|' || `);
}
