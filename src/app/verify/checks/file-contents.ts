import { loadKeyFor, type LoadKeyKind } from '../../../lake/catalog/load-key.js';
import { sqlType, type Table } from '../../../core/columns/table.js';
import { identifier, literal, timestampLiteral } from '../../../core/duckdb/literals.js';
import { LedgerlakeError } from '../../../core/errors.js';
import { groupBy } from '../../../core/group-by.js';
import { formatCount } from '../../../core/text/amounts.js';
import type { ResultCell } from '../../../core/text/rows.js';
import { monthOf, monthRange, overlap, type Window } from '../../../core/windows.js';
import { windowKey } from '../../../engine/slicing/window-slices.js';
import { instantColumn, loadKeyCondition } from '../../../lake/files/load-key-rows.js';
import { hasColumn } from '../../../lake/files/sorted-file.js';
import { countRows, misfitIn, rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { importedKey, loadedOf, parseImportedKey } from '../../../lake/loads/imported-spans.js';
import { RowFaults, type CheckContext } from './certificate.js';
import { isWithinMonth } from './loaded-windows.js';
import type { LogFile } from './log-files.js';
import { loadKeyKindOf } from '../../coverage/stored-pipelines.js';
import contentHashes from './content-hashes.sql';
import netSums from './net-sums.sql';

/** A file of the log, and the path at which DuckDB reads it. */
export interface ReadableFile {
  readonly file: LogFile;
  readonly path: string;
}

/**
 * Compares the rows of files of one table and account with the log: their number, statistics, folder, slice and positions.
 *
 * @throws LedgerlakeError SQL where DuckDB can't read one of the files as the table
 */
export async function checkContents(files: readonly ReadableFile[], context: CheckContext): Promise<void> {
  const [first] = files;
  if (first === undefined) return;
  const { schema } = first.file.delta;
  await checkShape(files, schema, context);
  await checkStatistics(files, schema, context);
  const kind = loadKeyKindOf(schema);
  if (kind === undefined) return;
  await checkPartitions(files, kind, context);
  if (schema.holds === 'events') await checkPositions(files, eventKeys, context);
  if (schema.customPipeline === undefined) return;
  await checkPositions(files, windowKeys, context);
  if (schema.columns.some(({ name }) => name === 'raw')) await checkHashes(files, context);
}

export function pathsOf(files: readonly ReadableFile[]): string[] {
  return files.map(({ path }) => path);
}

/**
 * A statement of a `.sql` file over the rows of files: `relations` has queries of them by the names that the statement reads them by.
 *
 * @param text begins with SELECT
 */
export function statementOver(relations: Readonly<Record<string, string>>, text: string): string {
  const queries = Object.entries(relations).map(([name, query]) => `${name} AS NOT MATERIALIZED (${query})`);
  return `WITH ${queries.join(', ')}\n${text}`;
}

/** The file of a row of `rowsWithSource`. */
export function fileOf(files: readonly ReadableFile[], source: ResultCell | undefined): LogFile {
  const found = files[Number(source)];
  if (found === undefined) throw new Error(`expected a file ${String(source)}`);
  return found.file;
}

async function checkShape(files: readonly ReadableFile[], schema: Table, { database }: CheckContext): Promise<void> {
  const misfit = await misfitIn(database, schema, pathsOf(files));
  if (misfit === undefined) return;
  const { column, found = 'none' } = misfit;
  throw new LedgerlakeError('SQL', `expected the column ${column.name} as ${sqlType(column)}, found ${found}`);
}

/** The figures of the log on a file's columns, by the sort of figure. */
const figuresOf = ({ stats: { minValues, maxValues, nullCount } }: LogFile) => [
  { figure: 'min', what: 'min', values: minValues },
  { figure: 'max', what: 'max', values: maxValues },
  { figure: 'nulls', what: 'number of nulls', values: nullCount },
];

async function checkStatistics(files: readonly ReadableFile[], schema: Table, context: CheckContext): Promise<void> {
  const { database, certificate } = context;
  const stated = new Set(files.flatMap(({ file }) => figuresOf(file).flatMap(({ values }) => Object.keys(values))));
  const columns = schema.columns.filter(({ name }) => stated.has(name));
  const expected = files.map(({ file }, source) => {
    const texts = columns.flatMap(({ name }) =>
      figuresOf(file).map(({ values }) => (name in values ? literal(String(values[name])) : 'NULL')),
    );
    return `(${[String(source), ...texts].join(', ')})`;
  });
  const names = columns.flatMap((_, at) => [`min${at}`, `max${at}`, `nulls${at}`]);
  const figures = columns.flatMap(({ name }, at) => {
    const column = identifier(name);
    return [`min(${column}) AS least${at}`, `max(${column}) AS most${at}`, `count(${column}) AS values${at}`];
  });
  const tests = columns.flatMap((column, at) => {
    const number = `coalesce(values${at}, 0)`;
    // A column without a value has no bounds.
    const bound = (test: string) => `coalesce(${test} AS ${sqlType(column)}), ${number} = 0)`;
    return [
      `${bound(`least${at} >= TRY_CAST(min${at}`)} AS min${at}`,
      `${bound(`most${at} <= TRY_CAST(max${at}`)} AS max${at}`,
      `coalesce(found, 0) - ${number} = TRY_CAST(nulls${at} AS BIGINT) AS nulls${at}`,
    ];
  });
  const rows = await database.rows(
    `SELECT ${['source', 'coalesce(found, 0) AS found', ...tests].join(', ')} ` +
      `FROM (VALUES ${expected.join(', ')}) AS expected(${['source', ...names].join(', ')}) LEFT JOIN (` +
      `SELECT ${[`${sourceColumn} AS source`, 'count(*) AS found', ...figures].join(', ')} ` +
      `FROM ${rowsWithSource(pathsOf(files))} GROUP BY ${sourceColumn}) USING (source) ORDER BY source`,
  );
  for (const row of rows) {
    const file = fileOf(files, row['source']);
    const found = Number(row['found']);
    certificate.count('row-counts', found);
    if (found !== file.rows)
      certificate.add('row-counts', 'lake', file, `expected ${formatCount(file.rows, 'row')}, found ${found}`);
    certificate.count('statistics');
    const { numRecords } = file.stats;
    const wrong = figuresOf(file).flatMap(({ figure, what, values }) =>
      Object.keys(values)
        .filter((name) => row[`${figure}${columns.findIndex((column) => column.name === name)}`] !== true)
        .map((name) => `the ${what} ${figure === 'nulls' ? 'in' : 'of'} ${name} is wrong`),
    );
    const faults = [
      ...(found === numRecords ? [] : [`numRecords is ${numRecords}, the file has ${formatCount(found, 'row')}`]),
      ...wrong,
    ];
    if (faults.length > 0) certificate.add('statistics', 'lake', file, faults.join('; '));
  }
}

/** In SQL, by kind of load key: owner, first instant and end of the slices of the rows. */
const slices: Readonly<Record<LoadKeyKind, string>> = {
  window: 'NULL, epoch_ms(window_start), epoch_ms(window_end)',
  group: 'group_id, epoch_ms(window_start), NULL',
  order: 'requested_order_id, epoch_ms(min(posted_at)), NULL',
  settlement: 'settlement_id, NULL, NULL',
};

/** Compares windows, groups or orders of the rows with the load keys of their file and the month of its folder. */
async function checkPartitions(
  files: readonly ReadableFile[],
  kind: LoadKeyKind,
  { lake, database, certificate }: CheckContext,
): Promise<void> {
  certificate.count('partitions', files.length);
  const claims = files.map(({ file: { month, loadKeys, account } }) => ({
    month,
    loadKeys: new Set(loadKeys),
    forgottenBefore: lake.snapshot.forgottenBefore(account),
  }));
  const faults = new RowFaults('slice');
  const { chunks } = await database.query(
    `SELECT ${sourceColumn}, ${slices[kind]} FROM ${rowsWithSource(pathsOf(files))} GROUP BY ALL`,
  );
  for await (const rows of chunks) {
    for (const [source = null, owner = null, start = null, end = null] of rows) {
      const claim = claims[Number(source)];
      if (claim === undefined) continue;
      const fault = kind === 'window' ? windowFault(start, end, claim) : ownerFault(kind, owner, start, claim);
      faults.add('partitions', fileOf(files, source), fault);
    }
  }
  for (const { file, path } of files) {
    const spans = file.loadKeys.flatMap((key) => parseImportedKey(key) ?? []);
    if (spans.length === 0) continue;
    const isImported = loadKeyCondition(spans.map(importedKey));
    const outside = await countRows(database, path, `${isImported} AND NOT (${isInPlace(file)})`);
    if (outside > 0)
      faults.add('partitions', file, `${formatCount(outside, 'imported row')} outside of their days or month`);
    const loaded = loadedOf(lake.loadKeys(file.pipeline, file.account).values()).filter((window) =>
      spans.some((span) => overlap(span, window)),
    );
    const twice = await countRows(database, path, `${isImported} AND ${isInWindows(file, loaded)}`);
    if (twice > 0)
      faults.add('partitions', file, `${formatCount(twice, 'imported row')} of loaded windows: rows may occur twice`);
  }
  faults.addTo(certificate);
}

/** In SQL: whether an imported row lies in its days and in the month of its folder. */
function isInPlace({ delta, month }: LogFile): string {
  const instant = instantColumn(delta.schema);
  const range = monthRange(month);
  const isInSpan = `${instant} >= window_start AND ${instant} < window_end`;
  return range === undefined ? isInSpan : `${isInSpan} AND ${isWithin(instant, range)}`;
}

/** In SQL: whether an imported row is of windows: by its date, without one by all of its days. */
function isInWindows({ delta }: LogFile, windows: readonly Window[]): string {
  const instant = instantColumn(delta.schema);
  const isDated = hasColumn(delta.schema, 'posted_at') ? 'posted_at IS NOT NULL AND ' : '';
  const inEach = windows.map((window) => {
    const ofDays = `window_start >= ${timestampLiteral(window.start)} AND window_end <= ${timestampLiteral(window.end)}`;
    return `(${isDated}${isWithin(instant, window)}) OR (${ofDays})`;
  });
  return inEach.length === 0 ? 'false' : `(${inEach.join(' OR ')})`;
}

function isWithin(instant: string, { start, end }: Window): string {
  return `${instant} >= ${timestampLiteral(start)} AND ${instant} < ${timestampLiteral(end)}`;
}

/** What a file says about its rows. */
interface Claims {
  readonly month: string;
  readonly loadKeys: ReadonlySet<string>;
  /** The instant before which rows of the account's orders were forgotten, milliseconds since 1970. */
  readonly forgottenBefore: number | undefined;
}

function windowFault(start: ResultCell, end: ResultCell, { loadKeys, month }: Claims): string | undefined {
  if (start === null || end === null) return 'rows without a window';
  const window = { start: Number(start), end: Number(end) };
  const loadKey = windowKey(window);
  if (!loadKeys.has(loadKey) && loadKeys.has(importedKey(window))) return undefined;
  if (!loadKeys.has(loadKey)) return `rows of ${loadKey}, which the file does not name`;
  if (!isWithinMonth(window)) return `${loadKey} crosses the end of a month`;
  return monthOf(window.start) === month ? undefined : `rows of ${loadKey} in the folder of ${month}`;
}

function ownerFault(
  kind: Exclude<LoadKeyKind, 'window'>,
  owner: ResultCell,
  instant: ResultCell,
  { loadKeys, month, forgottenBefore }: Claims,
): string | undefined {
  const loadKey = loadKeyFor(kind, String(owner));
  if (!loadKeys.has(loadKey)) return `rows of ${loadKey}, which the file does not name`;
  // A group without a start lies in the month of the window that listed it; a settlement's summary in that of its
  // transactions.
  if (instant === null && kind !== 'order') return undefined;
  const expected = instant === null ? 'unknown' : monthOf(Number(instant));
  // Rows of an order lie in the month of its first event, also where that one is forgotten.
  if (forgottenBefore !== undefined && month < expected && month <= monthOf(forgottenBefore)) return undefined;
  return expected === month ? undefined : `rows of ${loadKey}, which belongs to ${expected}, in the folder of ${month}`;
}

const windowKeys = ['window_start', 'window_end'];
/** A file may hold the rows of several slices. */
const eventKeys = [...windowKeys, 'group_id', 'requested_order_id'];

async function checkPositions(
  files: readonly ReadableFile[],
  keys: readonly string[],
  { database, certificate }: CheckContext,
): Promise<void> {
  for (const { file } of files) certificate.count('positions', file.rows);
  const twice =
    `SELECT ${sourceColumn} AS source, position FROM ${rowsWithSource(pathsOf(files))} ` +
    `GROUP BY ${sourceColumn}, ${keys.join(', ')}, position HAVING count(*) > 1 OR position IS NULL OR position < 0`;
  const rows = await database.rows(
    `SELECT source, count(*) AS found, min(position) AS first FROM (${twice}) GROUP BY source ORDER BY source`,
  );
  for (const { source, found, first } of rows) {
    const text = `${String(found)} positions of a slice are missing or occur twice, such as ${String(first)}`;
    certificate.add('positions', 'lake', fileOf(files, source), text);
  }
}

/** Checks the hashes of a custom pipeline's table that stores its records. */
async function checkHashes(files: readonly ReadableFile[], { database, certificate }: CheckContext): Promise<void> {
  for (const { file } of files) certificate.count('event-ids', file.rows);
  const rows = await database.rows(
    statementOver({ read_rows: `FROM ${rowsWithSource(pathsOf(files))}` }, contentHashes),
  );
  for (const { source, found, first } of rows) {
    const text = `${String(found)} rows whose content_hash isn't that of raw, such as ${String(first)}`;
    certificate.add('event-ids', 'lake', fileOf(files, source), text);
  }
}

const zero = '0.000000';

/** Compares the net sums in the log's tags of files of entries with their rows. */
export async function checkNetSums(
  files: readonly ReadableFile[],
  { database, certificate }: CheckContext,
): Promise<void> {
  if (files.length === 0) return;
  certificate.count('net-sums', files.length);
  const rows = await database.rows(statementOver({ read_entries: `FROM ${rowsWithSource(pathsOf(files))}` }, netSums));
  const netsOf = groupBy(rows, ({ source }) => Number(source));
  for (const [source, { file }] of files.entries()) {
    const sums = netsOf.get(source)?.map(({ currency, net }) => [String(currency), String(net)]) ?? [];
    const found = Object.fromEntries(sums) as Readonly<Record<string, string>>;
    const expected = file.net ?? {};
    const texts = Object.keys({ ...found, ...expected }).flatMap((currency) => {
      const [log, net] = [expected[currency] ?? zero, found[currency] ?? zero];
      const name = currency === '' ? 'no currency' : currency;
      return log === net ? [] : [`${name}: the log has ${log}, the rows add up to ${net}`];
    });
    if (texts.length > 0) certificate.add('net-sums', 'lake', file, texts.join('; '));
  }
}
