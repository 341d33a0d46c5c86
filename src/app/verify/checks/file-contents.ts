import { sqlType } from '../../../core/columns/table.js';
import { identifier, literal, timestampLiteral } from '../../../core/duckdb/literals.js';
import { LedgerlakeError } from '../../../core/errors.js';
import { formatCount } from '../../../core/text/amounts.js';
import type { ResultCell } from '../../../core/text/rows.js';
import { monthOf, overlap, type Window } from '../../../core/windows.js';
import { windowKey } from '../../../engine/slicing/window-slices.js';
import { instantColumn, loadKeyCondition } from '../../../lake/files/load-key-rows.js';
import { hasColumn } from '../../../lake/files/sorted-file.js';
import { countRows, misfitIn, rowsIn } from '../../../lake/files/local-parquet.js';
import { netSumsIn } from '../../../lake/files/new-file.js';
import { importedKey, loadedOf, parseImportedKey } from '../../../lake/loads/imported-spans.js';
import { monthRange } from '../../reread-command.js';
import { RowFaults, type CheckContext } from './certificate.js';
import { isWithinMonth } from './loaded-windows.js';
import type { LogFile } from './log-files.js';
import { pipelineTable, type PipelineTable } from './main-tables.js';

/** A file of the log, and the path at which DuckDB reads it. */
export interface ReadableFile {
  readonly file: LogFile;
  readonly path: string;
}

/**
 * Compares a file's rows with the log: their number, statistics, folder, slice and positions.
 *
 * @throws LedgerlakeError SQL where DuckDB can't read the file as its table
 */
export async function checkContents(readable: ReadableFile, context: CheckContext): Promise<void> {
  const { schema } = readable.file.delta;
  await checkShape(readable, context);
  await checkStatistics(readable, context);
  const main = pipelineTable(schema);
  if (main === undefined) return;
  await checkPartition(readable, main, context);
  if (main.entries !== undefined) await checkPositions(readable, eventKeys, context);
  if (schema.customPipeline === undefined) return;
  await checkPositions(readable, windowKeys, context);
  if (schema.columns.some(({ name }) => name === 'raw')) await checkHashes(readable, context);
}

async function checkShape({ file, path }: ReadableFile, { events }: CheckContext): Promise<void> {
  const misfit = await misfitIn(events, file.delta.schema, path);
  if (misfit === undefined) return;
  const { column, found = 'none' } = misfit;
  throw new LedgerlakeError('SQL', `expected the column ${column.name} as ${sqlType(column)}, found ${found}`);
}

async function checkStatistics({ file, path }: ReadableFile, context: CheckContext): Promise<void> {
  const { events, certificate } = context;
  const { minValues, maxValues, nullCount, numRecords } = file.stats;
  const bound = (test: string, sign: string) => {
    return ([name, value]: [string, unknown]) => {
      const column = file.delta.schema.columns.find((known) => known.name === name);
      const holds =
        column && `${test}(${identifier(name)}) ${sign} TRY_CAST(${literal(String(value))} AS ${sqlType(column)})`;
      // A column without a value has no bounds.
      const sql = holds === undefined ? 'false' : `coalesce(${holds}, count(${identifier(name)}) = 0)`;
      return { what: `${test} of ${name}`, sql };
    };
  };
  const tests = [
    ...Object.entries(minValues).map(bound('min', '>=')),
    ...Object.entries(maxValues).map(bound('max', '<=')),
    ...Object.entries(nullCount).map(([name, count]) => ({
      what: `number of nulls in ${name}`,
      sql: `count(*) - count(${identifier(name)}) = ${literal(String(count))}::BIGINT`,
    })),
  ];
  const columns = ['count(*) AS found', ...tests.map(({ sql }, index) => `${sql} AS t${index}`)];
  const [row] = await events.rows(`SELECT ${columns.join(', ')} FROM ${rowsIn([path])}`);
  const found = Number(row?.['found']);
  certificate.count('row-counts', found);
  if (found !== file.rows)
    certificate.add('row-counts', 'lake', file, `expected ${formatCount(file.rows, 'row')}, found ${found}`);
  certificate.count('statistics');
  const wrong = tests.filter((_, index) => row?.[`t${index}`] !== true);
  const faults = [
    ...(found === numRecords ? [] : [`numRecords is ${numRecords}, the file has ${formatCount(found, 'row')}`]),
    ...wrong.map(({ what }) => `the ${what} is wrong`),
  ];
  if (faults.length > 0) certificate.add('statistics', 'lake', file, faults.join('; '));
}

/** In SQL, by kind of load key: owner, first instant and end of the slices of a file's rows. */
const slices: Readonly<Record<string, string>> = {
  window: 'SELECT DISTINCT NULL, epoch_ms(window_start), epoch_ms(window_end)',
  group: 'SELECT DISTINCT group_id, epoch_ms(window_start), NULL',
  order: 'SELECT requested_order_id, epoch_ms(min(posted_at)), NULL',
  settlement: 'SELECT DISTINCT settlement_id, NULL, NULL',
};

/** Compares windows, groups or orders of the rows with the load keys of the file and the month of its folder. */
async function checkPartition(
  { file, path }: ReadableFile,
  { loadKey }: PipelineTable,
  { lake, events, certificate }: CheckContext,
): Promise<void> {
  certificate.count('partitions');
  const claims = { month: file.month, loadKeys: new Set(file.loadKeys) };
  const faults = new RowFaults('slice');
  const grouping = loadKey === 'order' ? 'GROUP BY ALL' : '';
  const { chunks } = await events.query(`${slices[loadKey] ?? ''} FROM ${rowsIn([path])} ${grouping}`);
  for await (const rows of chunks) {
    for (const [owner = null, start = null, end = null] of rows) {
      const fault = loadKey === 'window' ? windowFault(start, end, claims) : ownerFault(loadKey, owner, start, claims);
      faults.add('partitions', file, fault);
    }
  }
  const spans = file.loadKeys.flatMap((key) => parseImportedKey(key) ?? []);
  if (spans.length > 0) {
    const isImported = loadKeyCondition(spans.map(importedKey));
    const outside = await countRows(events, path, `${isImported} AND NOT (${isInPlace(file)})`);
    if (outside > 0)
      faults.add('partitions', file, `${formatCount(outside, 'imported row')} outside of their days or month`);
    const loaded = loadedOf(lake.loadKeys(file.pipeline, file.account).values()).filter((window) =>
      spans.some((span) => overlap(span, window)),
    );
    const twice = await countRows(events, path, `${isImported} AND ${isInWindows(file, loaded)}`);
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
  kind: string,
  owner: ResultCell,
  instant: ResultCell,
  { loadKeys, month }: Claims,
): string | undefined {
  const loadKey = `${kind}/${String(owner)}`;
  if (!loadKeys.has(loadKey)) return `rows of ${loadKey}, which the file does not name`;
  // A group without a start lies in the month of the window that listed it; a settlement's summary in that of its
  // transactions.
  if (instant === null && kind !== 'order') return undefined;
  const expected = instant === null ? 'unknown' : monthOf(Number(instant));
  return expected === month ? undefined : `rows of ${loadKey}, which belongs to ${expected}, in the folder of ${month}`;
}

const windowKeys = ['window_start', 'window_end'];
/** A file may hold the rows of several slices. */
const eventKeys = [...windowKeys, 'group_id', 'requested_order_id'];

async function checkPositions(
  { file, path }: ReadableFile,
  keys: readonly string[],
  { events, certificate }: CheckContext,
): Promise<void> {
  certificate.count('positions', file.rows);
  const twice =
    `SELECT position FROM ${rowsIn([path])} GROUP BY ${keys.join(', ')}, position ` +
    'HAVING count(*) > 1 OR position IS NULL OR position < 0';
  const [row] = await events.rows(`SELECT count(*) AS found, min(position) AS first FROM (${twice})`);
  if (Number(row?.['found']) === 0) return;
  const text = `${String(row?.['found'])} positions of a slice are missing or occur twice, such as ${String(row?.['first'])}`;
  certificate.add('positions', 'lake', file, text);
}

/** Checks the hashes of a custom pipeline's table that stores its records. */
async function checkHashes({ file, path }: ReadableFile, { events, certificate }: CheckContext): Promise<void> {
  certificate.count('event-ids', file.rows);
  const wrong = `FROM ${rowsIn([path])} WHERE content_hash IS DISTINCT FROM substr(sha256(raw), 1, 32)`;
  const [row] = await events.rows(`SELECT count(*) AS found, min(content_hash) AS first ${wrong}`);
  if (Number(row?.['found']) === 0) return;
  const text = `${String(row?.['found'])} rows whose content_hash isn't that of raw, such as ${String(row?.['first'])}`;
  certificate.add('event-ids', 'lake', file, text);
}

const zero = '0.000000';

/** Compares the net sums in the log's tags of files of entries with their rows. */
export async function checkNetSums(
  files: readonly ReadableFile[],
  { events, certificate }: CheckContext,
): Promise<void> {
  for (const { file, path } of files) {
    certificate.count('net-sums');
    const found = await netSumsIn(events, [path]);
    const expected = file.net ?? {};
    const texts = Object.keys({ ...found, ...expected }).flatMap((currency) => {
      const [log, net] = [expected[currency] ?? zero, found[currency] ?? zero];
      const name = currency === '' ? 'no currency' : currency;
      return log === net ? [] : [`${name}: the log has ${log}, the rows add up to ${net}`];
    });
    if (texts.length > 0) certificate.add('net-sums', 'lake', file, texts.join('; '));
  }
}
