import { sqlType } from '../../core/columns/table.js';
import type { Database } from '../../core/duckdb/connection.js';
import { LedgerlakeError } from '../../core/errors.js';
import { identifier, literal } from '../../core/duckdb/literals.js';
import type { Cell } from '../../core/text/rows.js';
import { instantColumn, loadKeyCondition } from '../../lake/files/load-key-rows.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { parseImportedKey } from '../../lake/loads/imported-days.js';
import { monthOf } from '../../core/windows.js';
import { Faults, type Certificate } from './certificate.js';
import { mainTable } from './main-tables.js';
import { isWithinMonth } from './loaded-windows.js';
import type { LogFile } from './log-files.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** A file of the log, and where DuckDB reads it. */
export interface ReadableFile {
  readonly file: LogFile;
  readonly path: string;
}

type Row = Readonly<Record<string, Cell>>;

/** A table function over files, with no column of their folders among theirs. */
export function parquet(...paths: readonly string[]): string {
  return rowsIn(paths);
}

/**
 * Holds a file's rows against what the log says of them: their number, the statistics, folder and slice, places.
 *
 * @throws LedgerlakeError SQL where DuckDB can't read the file as its table
 */
export async function checkContents(
  readable: ReadableFile,
  database: Database,
  certificate: Certificate,
  signal: AbortSignal,
): Promise<void> {
  const { file, path } = readable;
  await checkShape(file, path, database, signal);
  await checkStatistics(file, path, database, certificate, signal);
  const main = mainTable(file.delta.schema);
  if (main === undefined) return;
  await checkPartition(file, path, database, certificate, signal);
  const { ownPipeline } = file.delta.schema;
  if (main.entries !== undefined) await checkPositions(file, path, eventKeys, database, certificate, signal);
  if (ownPipeline === undefined) return;
  await checkPositions(file, path, windowKeys, database, certificate, signal);
  await checkHashes(file, path, database, certificate, signal);
}

async function checkShape({ delta }: LogFile, path: string, database: Database, signal: AbortSignal): Promise<void> {
  const described = await database.rows(`DESCRIBE FROM ${parquet(path)}`, { signal });
  const types = new Map(described.map((row) => [row['column_name'], row['column_type']]));
  for (const column of delta.schema.columns) {
    const { name } = column;
    const found = types.get(name);
    if (found === sqlType(column) || (found === undefined && column.later === true)) continue;
    throw new LedgerlakeError(
      'SQL',
      `expected the column ${name} as ${sqlType(column)}, found ${String(found ?? 'none')}`,
    );
  }
}

async function checkStatistics(
  file: LogFile,
  path: string,
  database: Database,
  certificate: Certificate,
  signal: AbortSignal,
): Promise<void> {
  const { minValues, maxValues, nullCount, numRecords } = file.stats;
  const bounds = [
    ...Object.entries(minValues).map(([name, value]) => ({ name, value, test: 'min', sign: '>=' })),
    ...Object.entries(maxValues).map(([name, value]) => ({ name, value, test: 'max', sign: '<=' })),
  ].map((bound) => ({ ...bound, column: file.delta.schema.columns.find(({ name }) => name === bound.name) }));
  const tests = [
    // Without a value there is nothing to bound.
    ...bounds.map(({ name, value, test, sign, column }) =>
      column === undefined
        ? 'false'
        : `coalesce(${test}(${identifier(name)}) ${sign} TRY_CAST(${literal(String(value))} AS ${sqlType(column)}), count(${identifier(name)}) = 0)`,
    ),
    ...Object.entries(nullCount).map(
      ([name, count]) => `count(*) - count(${identifier(name)}) = ${literal(String(count))}::BIGINT`,
    ),
  ];
  const names = [
    ...bounds.map(({ test, name }) => `${test} of ${name}`),
    ...Object.keys(nullCount).map((name) => `number of nulls in ${name}`),
  ];
  const columns = tests.map((test, index) => `${test} AS t${index}`);
  const [row] = await database.rows(`SELECT ${['count(*) AS found', ...columns].join(', ')} FROM ${parquet(path)}`, {
    signal,
  });
  const found = Number(row?.['found']);
  certificate.count('row-counts', found);
  if (found !== file.rows) certificate.add('row-counts', 'lake', file, `expected ${file.rows} rows, found ${found}`);
  certificate.count('statistics');
  const faults = [
    ...(found === numRecords ? [] : [`numRecords says ${numRecords}, the file has ${found} rows`]),
    ...names.filter((_, index) => row?.[`t${index}`] !== true).map((name) => `the ${name} does not hold`),
  ];
  if (faults.length > 0) certificate.add('statistics', 'lake', file, faults.join('; '));
}

/** Windows, groups or orders of the rows against the units of the file and the month of its folder. */
async function checkPartition(
  file: LogFile,
  path: string,
  database: Database,
  certificate: Certificate,
  signal: AbortSignal,
): Promise<void> {
  certificate.count('partitions');
  const unit = mainTable(file.delta.schema)?.unit;
  const sql =
    unit === 'order'
      ? `SELECT requested_order_id AS owner, epoch_ms(min(posted_at)) AS instant FROM ${parquet(path)} GROUP BY ALL`
      : unit === 'group'
        ? `SELECT DISTINCT group_id AS owner, epoch_ms(window_start) AS instant FROM ${parquet(path)}`
        : `SELECT DISTINCT epoch_ms(window_start) AS instant, epoch_ms(window_end) AS ends FROM ${parquet(path)}`;
  const units = new Set(file.units);
  const faults = new Faults();
  const { chunks, columns } = await database.query(sql, { signal });
  for await (const rows of chunks) {
    for (const cells of rows) {
      const row = Object.fromEntries(columns.map(({ name }, index): [string, Cell] => [name, cells[index] ?? null]));
      const fault = unit === 'window' ? windowFault(row, units, file.month) : ownerFault(row, units, file.month, unit);
      if (fault !== undefined) faults.add(fault);
    }
  }
  const imported = file.units.filter((name) => parseImportedKey(name) !== undefined);
  if (imported.length > 0) {
    const [row] = await database.rows(
      `SELECT count(*) AS found FROM ${parquet(path)} WHERE NOT ${loadKeyCondition(file.units, instantColumn(file.delta.schema))}`,
      { signal },
    );
    if (Number(row?.['found']) > 0) faults.add(`${Number(row?.['found'])} rows of no day that the file names`);
  }
  const text = faults.text('slice');
  if (text !== undefined) certificate.add('partitions', 'lake', file, text);
}

function windowFault({ instant, ends }: Row, units: ReadonlySet<string>, month: string): string | undefined {
  if (instant === null || ends === null || instant === undefined || ends === undefined) return 'rows without a window';
  const window = { start: Number(instant), end: Number(ends) };
  const unit = `window/${isoInstant(window.start)}/${isoInstant(window.end)}`;
  // What loaded windows have left of an imported day lies in the day that its rows tell.
  const isImported = [...units].some((name) => {
    const day = parseImportedKey(name);
    return day !== undefined && day.start >= window.start && day.end <= window.end;
  });
  if (!units.has(unit) && !isImported) return `rows of ${unit}, which the file does not name`;
  if (!isWithinMonth(window)) return `${unit} crosses the end of a month`;
  return monthOf(window.start) === month ? undefined : `rows of ${unit} in the folder of ${month}`;
}

function ownerFault(
  { owner, instant }: Row,
  units: ReadonlySet<string>,
  month: string,
  kind: string | undefined,
): string | undefined {
  const unit = `${kind ?? ''}/${String(owner)}`;
  if (!units.has(unit)) return `rows of ${unit}, which the file does not name`;
  // A group that doesn't say when it opened stands where it was listed.
  if (instant === null && kind === 'group') return undefined;
  const expected = instant === null ? 'unknown' : monthOf(Number(instant));
  return expected === month ? undefined : `rows of ${unit}, which belongs to ${expected}, in the folder of ${month}`;
}

const windowKeys = ['window_start', 'window_end'];
/** A file may hold the rows of several slices. */
const eventKeys = [...windowKeys, 'group_id', 'requested_order_id'];

async function checkPositions(
  file: LogFile,
  path: string,
  keys: readonly string[],
  database: Database,
  certificate: Certificate,
  signal: AbortSignal,
): Promise<void> {
  certificate.count('positions', file.rows);
  const twice =
    `SELECT position FROM ${parquet(path)} GROUP BY ${keys.join(', ')}, position ` +
    'HAVING count(*) > 1 OR position IS NULL OR position < 0';
  const [row] = await database.rows(`SELECT count(*) AS found, min(position) AS first FROM (${twice})`, { signal });
  if (Number(row?.['found']) === 0) return;
  const text = `${String(row?.['found'])} places of a slice are none or come twice, such as ${String(row?.['first'])}`;
  certificate.add('positions', 'lake', file, text);
}

/** The hashes of a user's own table, where it keeps its records. */
async function checkHashes(
  file: LogFile,
  path: string,
  database: Database,
  certificate: Certificate,
  signal: AbortSignal,
): Promise<void> {
  if (!file.delta.schema.columns.some(({ name }) => name === 'raw')) return;
  certificate.count('event-ids', file.rows);
  const wrong = `FROM ${parquet(path)} WHERE content_hash IS DISTINCT FROM substr(sha256(raw), 1, 32)`;
  const [row] = await database.rows(`SELECT count(*) AS found, min(content_hash) AS first ${wrong}`, { signal });
  if (Number(row?.['found']) === 0) return;
  const text = `${String(row?.['found'])} rows whose content_hash isn't that of raw, such as ${String(row?.['first'])}`;
  certificate.add('event-ids', 'lake', file, text);
}
