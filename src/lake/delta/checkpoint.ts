import type { Data, DataType, RecordBatch, Table as ArrowTable } from 'apache-arrow';
import { arrow } from '../../core/columns/arrow.js';
import { guardedGroups } from '../../core/parquet/guarded-groups.js';
import {
  listValue,
  encodeRecords,
  listField,
  mapField,
  mapValue,
  type RecordField,
  type RecordValue,
} from '../../core/parquet/encoder/encode-records.js';
import { checkFooterRows, footerAt, writerName } from '../../core/parquet/footer.js';
import type { RowGroup } from '../../core/parquet/wasm.js';
import { formatCount } from '../../core/text/amounts.js';
import { version } from '../../core/version.js';
import {
  logError,
  readAction,
  type Action,
  type Add,
  type MetaData,
  type Protocol,
  type Remove,
  type Txn,
} from './actions.js';
import { isAscii } from 'node:buffer';
import { createHash } from 'node:crypto';

/** The state of a table at one version of its log. */
export interface TableState {
  readonly protocol: Protocol;
  readonly metaData: MetaData;
  readonly files: Iterable<Add>;
  readonly txns: Iterable<Txn>;
  /** Tombstones that haven't expired. */
  readonly removed?: Iterable<Remove>;
}

const text = (name: string): RecordField => ({ name, type: 'text' });
const long = (name: string): RecordField => ({ name, type: 'bigint' });
const flag = (name: string): RecordField => ({ name, type: 'boolean' });
const struct = (name: string, ...type: RecordField[]): RecordField => ({ name, type });

/** The checkpoint's columns: one action a row, each in the column of its kind (Delta protocol, "Checkpoint Schema"). */
const columns: readonly RecordField[] = [
  struct('txn', text('appId'), long('version'), long('lastUpdated')),
  struct(
    'add',
    ...[text('path'), mapField('partitionValues'), long('size'), long('modificationTime')],
    ...[flag('dataChange'), text('stats'), mapField('tags')],
  ),
  struct(
    'remove',
    ...[text('path'), long('deletionTimestamp'), flag('dataChange'), flag('extendedFileMetadata')],
    ...[mapField('partitionValues'), long('size')],
  ),
  struct(
    'metaData',
    ...[text('id'), text('name'), struct('format', text('provider'), mapField('options')), text('schemaString')],
    ...[listField('partitionColumns'), mapField('configuration'), long('createdTime')],
  ),
  struct('protocol', { name: 'minReaderVersion', type: 'integer' }, { name: 'minWriterVersion', type: 'integer' }),
];

/** Rows of a row group, about 1 kB each: as objects they take many times the memory of columns. */
const groupRows = 1000;

/** Encodes a classic checkpoint: the state of a table in one Parquet file. Returns the number of actions as well. */
export async function encodeCheckpoint(state: TableState): Promise<{ bytes: Uint8Array; actions: number }> {
  const { bytes, rows } = await encodeRecords(columns, rowsOf(state), groupRows, `${writerName}${version}`);
  checkFooterRows(bytes, rows, 'a checkpoint', 'what was committed stands without it');
  return { bytes, actions: rows };
}

function* rowsOf({ protocol, metaData, files, txns, removed = [] }: TableState): Generator<RecordValue> {
  yield { protocol: { ...protocol } };
  yield { metaData: metaDataRow(metaData) };
  for (const txn of txns) yield { txn: { ...txn, lastUpdated: whole(txn.lastUpdated) } };
  for (const add of files) yield { add: addRow(add) };
  for (const remove of removed) yield { remove: removeRow(remove) };
}

function addRow({ path, partitionValues, size, modificationTime, stats, tags }: Add): RecordValue {
  return {
    ...{ path, size, modificationTime, stats },
    partitionValues: mapValue(partitionValues),
    // The files of a checkpoint aren't new to its readers.
    dataChange: false,
    tags: tags === undefined ? null : mapValue(tags),
  };
}

/** Without the statistics and tags that undo a removal (`swappedOut`): a checkpoint has only the fields of the protocol. */
function removeRow({ path, deletionTimestamp, partitionValues, size }: Remove): RecordValue {
  // The tombstone of a file that no commit has added has no partition and size.
  const wasCommitted = partitionValues !== undefined && size !== undefined;
  return {
    ...{ path, deletionTimestamp, dataChange: false, extendedFileMetadata: wasCommitted },
    partitionValues: wasCommitted ? mapValue(partitionValues) : null,
    size: wasCommitted ? size : null,
  };
}

function metaDataRow({ id, name, format, schemaString, ...others }: MetaData): RecordValue {
  return {
    ...{ id, name, schemaString },
    format: { provider: format.provider, options: mapValue(format.options) },
    partitionColumns: listValue(others.partitionColumns),
    configuration: mapValue(others.configuration),
    createdTime: whole(others.createdTime),
  };
}

/** Also null where another writer has written anything but an integer. */
function whole(value: number | undefined): number | null {
  return Number.isSafeInteger(value) ? (value ?? 0) : null;
}

/**
 * Reads the actions of a checkpoint of any writer; missing columns are skipped. Only for verified bytes: damaged ones can end the
 * process.
 *
 * @throws LedgerlakeError LAKE_LOG naming the file, where a row isn't an action or the rows are no state of a table; Error where
 *   the bytes are no Parquet file
 */
export async function decodeCheckpoint(bytes: Uint8Array, file: string): Promise<Action[]> {
  const { withParquet } = await import('../../core/parquet/wasm.js');
  return withParquet(bytes, async ({ isLedgerlakeFile, groups }) => {
    const actions: Action[] = [];
    // Group by group, to limit the memory of the decoded columns.
    for (const group of groups) {
      const tables = isLedgerlakeFile ? await tablesOf(group) : [await group.table()];
      for (const { data } of tables.flatMap(({ batches }) => batches)) addActions(actions, data, file);
    }
    return stateIn(actions, file);
  });
}

/**
 * The same for bytes without a checksum.
 *
 * @throws LedgerlakeError LAKE_LOG naming the file, where a row isn't an action or the rows are no state of a table; Error where
 *   the bytes are no Parquet file
 */
export async function decodeUnchecked(bytes: Uint8Array, file: string): Promise<Action[]> {
  const actions: Action[] = [];
  for (const table of await guardedGroups(bytes)) {
    for (const { data } of table.batches) addActions(actions, data, file);
  }
  return stateIn(actions, file);
}

/** A foreign Parquet file has no actions, and would count as an empty table whose files are all orphans. */
function stateIn(actions: Action[], file: string): Action[] {
  const isState = actions.some((one) => 'protocol' in one) && actions.some((one) => 'metaData' in one);
  if (isState) return actions;
  throw logError(
    `expected protocol and metaData in the checkpoint ${file}, got ${formatCount(actions.length, 'action')} without both`,
  );
}

/** For fewer rows, several reads cost more than they save. */
const fewRows = 200;

/**
 * Reads the transactions of a large group separately: nearly all rows are transactions, and reading the other columns
 * for them takes most of the time.
 */
async function tablesOf(group: RowGroup): Promise<readonly ArrowTable[]> {
  if (group.rows < fewRows) return [await group.table()];
  const txns = await group.table({ columns: ['txn'] });
  const others = { columns: columns.map(({ name }) => name).filter((name) => name !== 'txn') };
  const run = valuesOf(txns);
  if (run === undefined) return [await group.table()];
  const { from, to } = run;
  return [
    ...(from > 0 ? [await group.table({ ...others, limit: from })] : []),
    txns,
    ...(to < group.rows ? [await group.table({ ...others, offset: to })] : []),
  ];
}

function addActions(actions: Action[], data: RecordBatch['data'], file: string): void {
  const kinds = data.type.children.map(({ name }, at) => {
    const column = data.children[at];
    return { name, read: column === undefined ? () => undefined : rowReader(column) };
  });
  for (let row = 0; row < data.length; row++) {
    for (const { name, read } of kinds) {
      const fields = read(row);
      if (fields !== undefined) actions.push(readAction({ [name]: fields }, file, actions.length));
    }
  }
}

/** The range of rows that have a value in a table's only column; undefined where it has gaps. */
function valuesOf(table: ArrowTable): { readonly from: number; readonly to: number } | undefined {
  const column = table.getChildAt(0);
  if (column === null) return undefined;
  let from = 0;
  while (from < table.numRows && !column.isValid(from)) from++;
  let to = table.numRows;
  while (to > from && !column.isValid(to - 1)) to--;
  return to - from === table.numRows - column.nullCount ? { from, to } : undefined;
}

/** Returns the value of a row; undefined for null. */
type Reader = (row: number) => unknown;

/**
 * Reads rows of Arrow data as plain objects, as JSON would have them: without nulls, 64-bit integers as numbers, maps
 * as objects. Arrow's row objects take ten times as long, and a checkpoint has a row for each file and load key.
 */
function rowReader(data: Data): Reader {
  const value = valueReader(data);
  return data.nullCount === 0 ? value : (row) => (data.getValid(row) ? value(row) : undefined);
}

function valueReader(data: Data): Reader {
  const { children } = data;
  const type: DataType = data.type;
  const values: unknown = data.values;
  const offsets = data.valueOffsets as Int32Array | undefined;
  if (data.offset !== 0) return arrowReader(data);
  if (arrow().DataType.isStruct(type)) {
    const names = type.children.map(({ name }) => name);
    return structReader(names, children.map(rowReader));
  }
  if (arrow().DataType.isUtf8(type) && offsets !== undefined) {
    const bytes = values as Uint8Array;
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const encoding = isAscii(buffer) ? 'latin1' : 'utf8';
    return (row) => buffer.toString(encoding, offsets[row], offsets[row + 1]);
  }
  if (arrow().DataType.isInt(type)) {
    const numbers = values as Int32Array | BigInt64Array;
    if (!(numbers instanceof BigInt64Array)) return (row) => Number(numbers[row]);
    // By low and high halves: a BigInt for each would be a hundred thousand objects.
    const halves = new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length * 2);
    return (row) => (halves[2 * row + 1] ?? 0) * 2 ** 32 + ((halves[2 * row] ?? 0) >>> 0);
  }
  const [items] = children;
  if (items === undefined || offsets === undefined) return arrowReader(data);
  const range = (row: number) => ({ from: offsets[row] ?? 0, to: offsets[row + 1] ?? 0 });
  if (arrow().DataType.isMap(type)) {
    const [keys, entryOf] = items.children.map(rowReader);
    if (keys === undefined || entryOf === undefined) return arrowReader(data);
    return (row) => {
      const { from, to } = range(row);
      const entries: [string, unknown][] = [];
      for (let at = from; at < to; at++) {
        const found = entryOf(at);
        if (found !== undefined) entries.push([String(keys(at)), found]);
      }
      // Not assigned: a key may be `__proto__`.
      return Object.fromEntries(entries);
    };
  }
  if (arrow().DataType.isList(type)) {
    const item = rowReader(items);
    return (row) => {
      const { from, to } = range(row);
      return Array.from({ length: to - from }, (_, at) => item(from + at));
    };
  }
  return arrowReader(data);
}

function structReader(names: readonly string[], readers: readonly Reader[]): Reader {
  return (row) => {
    const fields: Record<string, unknown> = {};
    for (let at = 0; at < names.length; at++) {
      const value = readers[at]?.(row);
      if (value !== undefined) fields[names[at] ?? ''] = value;
    }
    return fields;
  };
}

/** For types that this program's checkpoints don't have. */
function arrowReader(data: Data): Reader {
  const vector = new (arrow().Vector)([data]);
  return (row) => plain(vector.get(row));
}

function plain(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof arrow().Vector) return Array.from(value as Iterable<unknown>, plain);
  if (value instanceof arrow().StructRow || value instanceof arrow().MapRow) {
    const entries = [...(value as Iterable<[string, unknown]>)].map(([key, entry]) => [key, plain(entry)]);
    return Object.fromEntries(entries.filter(([, entry]) => entry !== undefined)) as unknown;
  }
  return value;
}

/** Precedes the checksum within a checkpoint file. */
const marker = Buffer.from('ledgerlake sha256');
const digestBytes = 32;

/**
 * Inserts the SHA-256 of a checkpoint file between its row groups and its footer, where Parquet readers ignore it: all
 * offsets in the footer count from the file's start. So the checksum is written, copied and removed with the file.
 *
 * @param checkpoint name of the checkpoint, part of the hash: the file of another one doesn't match
 */
export function withChecksum(bytes: Uint8Array, checkpoint: string): Uint8Array {
  const at = footerAt(bytes);
  if (at === undefined) throw new Error('expected a Parquet file to write a checksum into');
  const data = bytes.subarray(0, at);
  const footer = bytes.subarray(at);
  return Buffer.concat([data, marker, digest(checkpoint, data, footer), footer]);
}

/** Verifies the checksum of a checkpoint file; `missing`: an older version or another program wrote it. */
export function checksumOf(bytes: Uint8Array, checkpoint: string): 'valid' | 'invalid' | 'missing' {
  const at = footerAt(bytes);
  if (at === undefined) return 'invalid';
  const from = at - digestBytes - marker.length;
  if (from < 0 || marker.compare(bytes, from, from + marker.length) !== 0) return 'missing';
  const found = bytes.subarray(from + marker.length, at);
  return digest(checkpoint, bytes.subarray(0, from), bytes.subarray(at)).equals(found) ? 'valid' : 'invalid';
}

function digest(checkpoint: string, data: Uint8Array, footer: Uint8Array): Buffer {
  return createHash('sha256').update(`${checkpoint}\n`).update(data).update(footer).digest();
}
