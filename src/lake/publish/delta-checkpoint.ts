import {
  encodeRecords,
  listField,
  listValue,
  mapField,
  mapValue,
  type RecordField,
  type RecordValue,
} from '../../core/parquet/encoder/encode-records.js';
import { checkFooterRows, writerName } from '../../core/parquet/footer.js';
import { version as programVersion } from '../../core/version.js';
import type { Add, MetaData } from '../delta/actions.js';
import { deltaProtocol } from './delta-commit.js';

/** The state of a table at one version. */
export interface PublishedState {
  readonly metaData: MetaData;
  readonly files: Iterable<Add>;
  /** Replaced files that are kept, by their path in the table's log, with when they were replaced, in milliseconds since 1970. */
  readonly removed: Iterable<readonly [string, number]>;
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

/**
 * Encodes a classic checkpoint (Delta protocol, "Checkpoints"): the state of a table in one Parquet file, so that its readers needn't read
 * all versions. Returns the number of actions as well.
 */
export async function encodeDeltaCheckpoint(state: PublishedState): Promise<{ bytes: Uint8Array; actions: number }> {
  const { bytes, rows } = await encodeRecords(columns, actionRows(state), groupRows, `${writerName}${programVersion}`);
  checkFooterRows(bytes, rows, 'a checkpoint', 'what was committed stands without it');
  return { bytes, actions: rows };
}

function* actionRows({ metaData, files, removed }: PublishedState): Generator<RecordValue> {
  yield { protocol: { ...deltaProtocol } };
  yield { metaData: metaDataRow(metaData) };
  for (const add of files) yield { add: addRow(add) };
  for (const [path, at] of removed) yield { remove: removeRow(path, at) };
}

function addRow({ path, partitionValues, size, modificationTime, stats, tags }: Add): RecordValue {
  return {
    path,
    size,
    modificationTime,
    stats,
    partitionValues: mapValue(partitionValues),
    // The files of a checkpoint aren't new to its readers.
    dataChange: false,
    tags: tags === undefined ? null : mapValue(tags),
  };
}

function removeRow(path: string, at: number): RecordValue {
  return {
    path,
    deletionTimestamp: at,
    dataChange: false,
    extendedFileMetadata: false,
    partitionValues: null,
    size: null,
  };
}

function metaDataRow({ id, name, format, schemaString, ...others }: MetaData): RecordValue {
  return {
    id,
    name,
    schemaString,
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
