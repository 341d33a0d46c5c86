import {
  Bool,
  Field,
  Int32,
  Int64,
  List,
  Map_,
  Struct,
  Table as ArrowTable,
  Utf8,
  vectorFromArray,
  type DataType,
  type RecordBatch,
  type TypeMap,
} from 'apache-arrow';
import { guardedGroups } from '../../core/parquet/guarded-groups.js';
import { plainParquetFile, withParquet, type RowGroup } from '../../core/parquet/wasm.js';
import { rowReader } from './checkpoint-rows.js';
import { readAction, type Action, type Add, type MetaData, type Protocol, type Remove, type Txn } from './actions.js';

/** All that a table's log amounts to at one version. */
export interface TableState {
  readonly protocol: Protocol;
  readonly metaData: MetaData;
  readonly files: Iterable<Add>;
  readonly txns: Iterable<Txn>;
  /** Tombstones that haven't expired. */
  readonly removed?: Iterable<Remove>;
}

const texts = (): Map_ =>
  new Map_(
    new Field(
      'entries',
      new Struct<{ key: Utf8; value: Utf8 }>([
        new Field('key', new Utf8(), false),
        new Field('value', new Utf8(), true),
      ]),
      false,
    ),
  );

const struct = (fields: Record<string, DataType>): Struct<TypeMap> =>
  new Struct(Object.entries(fields).map(([name, type]) => new Field(name, type, true)));

const formatType = struct({ provider: new Utf8(), options: texts() });

/** The checkpoint's columns: one action a row, each in the column of its kind (Delta protocol, "Checkpoint Schema"). */
const columns = {
  txn: struct({ appId: new Utf8(), version: new Int64(), lastUpdated: new Int64() }),
  add: struct({
    path: new Utf8(),
    partitionValues: texts(),
    size: new Int64(),
    modificationTime: new Int64(),
    dataChange: new Bool(),
    stats: new Utf8(),
    tags: texts(),
  }),
  remove: struct({
    path: new Utf8(),
    deletionTimestamp: new Int64(),
    dataChange: new Bool(),
    extendedFileMetadata: new Bool(),
    partitionValues: texts(),
    size: new Int64(),
  }),
  metaData: struct({
    id: new Utf8(),
    name: new Utf8(),
    format: formatType,
    schemaString: new Utf8(),
    partitionColumns: new List(new Field('element', new Utf8(), true)),
    configuration: texts(),
    createdTime: new Int64(),
  }),
  protocol: struct({ minReaderVersion: new Int32(), minWriterVersion: new Int32() }),
};

/** Rows that are made, written and read at once, some 1 kB each: as objects they take many times what they do in columns. */
const groupRows = 1000;

type Row = Partial<Record<keyof typeof columns, Record<string, unknown>>>;

/** A classic checkpoint: the state of a table in one Parquet file, and how many actions that are. */
export async function encodeCheckpoint(state: TableState): Promise<{ bytes: Uint8Array; actions: number }> {
  const { bytes, rows } = await plainParquetFile(batchesOf(state), groupRows);
  return { bytes, actions: rows };
}

function* batchesOf(state: TableState): Generator<RecordBatch> {
  let rows: Row[] = [];
  for (const row of rowsOf(state)) {
    if (rows.push(row) < groupRows) continue;
    yield* tableOf(rows).batches;
    rows = [];
  }
  if (rows.length > 0) yield* tableOf(rows).batches;
}

function* rowsOf({ protocol, metaData, files, txns, removed = [] }: TableState): Generator<Row> {
  yield { protocol: { ...protocol } };
  yield { metaData: metaDataRow(metaData) };
  for (const txn of txns) yield { txn: { ...txn, version: BigInt(txn.version), lastUpdated: long(txn.lastUpdated) } };
  for (const add of files) yield { add: addRow(add) };
  for (const remove of removed) yield { remove: removeRow(remove) };
}

function tableOf(rows: readonly Row[]): ArrowTable {
  const vectors = Object.entries(columns).map(([name, type]) => [
    name,
    vectorFromArray(
      rows.map((row) => row[name as keyof Row] ?? null),
      type,
    ),
  ]);
  return new ArrowTable(Object.fromEntries(vectors) as ConstructorParameters<typeof ArrowTable>[0]);
}

function addRow(add: Add): Record<string, unknown> {
  return {
    ...add,
    partitionValues: new Map(Object.entries(add.partitionValues)),
    size: BigInt(add.size),
    modificationTime: BigInt(add.modificationTime),
    // A checkpoint's reader must not take what it holds for news.
    dataChange: false,
    stats: add.stats ?? null,
    tags: add.tags === undefined ? null : new Map(Object.entries(add.tags)),
  };
}

/** What a removal takes to be undone (`swappedOut`) isn't for checkpoints: they have only what the protocol asks for. */
function removeRow({ path, deletionTimestamp, partitionValues, size }: Remove): Record<string, unknown> {
  // A bar is for a file that no commit has named: nobody knows more of it.
  const isKnown = partitionValues !== undefined && size !== undefined;
  return {
    path,
    deletionTimestamp: BigInt(deletionTimestamp),
    dataChange: false,
    extendedFileMetadata: isKnown,
    partitionValues: isKnown ? new Map(Object.entries(partitionValues)) : null,
    size: isKnown ? BigInt(size) : null,
  };
}

function metaDataRow(metaData: MetaData): Record<string, unknown> {
  return {
    ...metaData,
    name: metaData.name ?? null,
    format: { provider: metaData.format.provider, options: new Map(Object.entries(metaData.format.options)) },
    configuration: new Map(Object.entries(metaData.configuration)),
    createdTime: long(metaData.createdTime),
  };
}

function long(value: number | undefined): bigint | null {
  return value === undefined ? null : BigInt(value);
}

/**
 * Reads a checkpoint's actions, ours or another writer's; columns that it doesn't have are skipped. Only for bytes that are
 * known to be what was written: what is damaged can end the process.
 *
 * @throws LedgerlakeError LAKE_LOG naming the file, where a row isn't an action; Error where the bytes are no Parquet file
 */
export async function decodeCheckpoint(bytes: Uint8Array, file: string): Promise<Action[]> {
  return withParquet(bytes, async ({ isOwn, groups }) => {
    const actions: Action[] = [];
    // Group by group, so that what they are decoded to is never there of all of them.
    for (const group of groups) {
      const parts = isOwn ? await ownParts(group) : [await group.table()];
      for (const { data } of parts.flatMap(({ batches }) => batches)) addActions(actions, data, file);
    }
    return actions;
  });
}

/**
 * The same for bytes that nothing vouches for.
 *
 * @throws LedgerlakeError LAKE_LOG naming the file, where a row isn't an action; Error where the bytes are no Parquet file
 */
export async function decodeUnchecked(bytes: Uint8Array, file: string): Promise<Action[]> {
  const actions: Action[] = [];
  for (const table of await guardedGroups(bytes)) {
    for (const { data } of table.batches) addActions(actions, data, file);
  }
  return actions;
}

/** Of many rows nearly all are transactions, which have none of the other columns: to read those costs more than all else. */
async function ownParts(group: RowGroup): Promise<readonly ArrowTable[]> {
  const txns = await group.table({ columns: ['txn'] });
  const others = { columns: Object.keys(columns).filter((name) => name !== 'txn') };
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

/** From the first row that has a value in a table's only column to behind the last; undefined where one between has none. */
function valuesOf(table: ArrowTable): { readonly from: number; readonly to: number } | undefined {
  const column = table.getChildAt(0);
  if (column === null) return undefined;
  let from = 0;
  while (from < table.numRows && !column.isValid(from)) from++;
  let to = table.numRows;
  while (to > from && !column.isValid(to - 1)) to--;
  return to - from === table.numRows - column.nullCount ? { from, to } : undefined;
}
