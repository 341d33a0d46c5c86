import { addNets, fileMetadata } from '../../lake/files/new-file.js';
import { DamagedFile, type DataFile, type NetSums } from '../../lake/delta/data-file.js';
import { mkdir } from 'node:fs/promises';
import { writeNewFile } from '../../core/io/write-file.js';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { instantCells, textCells, type RowCells } from '../../core/columns/column-data.js';
import { columnBytes, ReusedMemory, type ColumnMemory } from '../../core/columns/memory.js';
import { type Table } from '../../core/columns/table.js';
import type { Database } from '../../core/duckdb/connection.js';
import { codeOf, LedgerlakeError, messageOf } from '../../core/errors.js';
import { millionths } from '../../core/numeric/decimal.js';
import { encodeFile } from '../../core/parquet/encode-file.js';
import { footerTexts } from '../../core/parquet/footer.js';
import { encodedColumns } from '../../core/parquet/decode-columns.js';
import type { ParquetSource } from '../../core/parquet/parquet-source.js';
import type { Derivation, DerivedBatch } from '../../engine/run/derivation.js';
import { loadKeysLabel } from '../../lake/files/load-key-rows.js';
import { rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import { sameRows } from '../../lake/files/month-files.js';
import { derivationOf } from '../../sources/finances/finances-apis.js';
import { pipelineNamed } from '../../../pipelines/all-pipelines.js';

/** Bytes that parquet-wasm reads at once: it copies them several times, and never releases memory. */
const readBytes = 1_500_000;

/**
 * Derives the entries of a file of events again from `raw`, in the order of the events, in batches of about `batchBytes` of `raw`
 * that bound the memory.
 *
 * @param memory of a batch's columns: clear it before the next batch, which invalidates the whole batch
 * @throws LedgerlakeError LAKE_STORE where the file is no Parquet file of events, or expands to more than is plausible
 */
async function* rederivedBatches(
  ...[derived, file, batchBytes, memory]: Parameters<typeof batchesOf>
): AsyncGenerator<DerivedBatch> {
  try {
    yield* batchesOf(derived, file, batchBytes, memory);
  } catch (error) {
    if (error instanceof LedgerlakeError && error.code !== 'JSON_SYNTAX') throw error;
    // Threads pass on the code: nothing else here reads the lake.
    throw new LedgerlakeError('LAKE_STORE', messageOf(error), { cause: error });
  }
}

async function* batchesOf(
  { table, derivation }: DerivedTable,
  file: ParquetSource,
  batchBytes: number,
  memory: ColumnMemory,
): AsyncGenerator<DerivedBatch> {
  let rows = derivation.begin();
  for await (const cells of storedCells(derivation, file)) {
    let add = rows.reader(cells);
    for (let row = 0; row < cells.rows; row++) {
      add(row);
      if (rows.bytes < batchBytes) continue;
      yield rows.finish(table, memory);
      // Our own encoding is read without awaiting I/O: without this break no other task would run before the end of the file.
      await setImmediate();
      rows.release();
      rows = derivation.begin();
      add = rows.reader(cells);
    }
  }
  if (rows.count > 0) yield rows.finish(table, memory);
  rows.release();
}

/** The cells that a derivation reads, by row group or batch. */
async function* storedCells(derivation: Derivation, file: ParquetSource): AsyncGenerator<RowCells> {
  const encoded = await encodedColumns(file, derivation);
  if (encoded !== undefined) {
    yield* encoded;
    return;
  }
  const { parquetBatches } = await import('../../core/parquet/wasm.js');
  for await (const batch of parquetBatches(file, [...derivation.texts, ...derivation.instants], readBytes)) {
    yield {
      rows: batch.numRows,
      texts: (column) => textCells(batch, column),
      instants: (column) => instantCells(batch, column),
    };
  }
}

/** A derived table, and the derivation of its rows from those of the main table. */
interface DerivedTable {
  readonly table: Table;
  readonly derivation: Derivation;
}

/** The derived table of a pipeline's entries. Throws an Error for a pipeline without a derivation. */
export function derivedTableOf(name: string): DerivedTable {
  const pipeline = pipelineNamed(name);
  const [table] = pipeline?.derived ?? [];
  const derivation = pipeline && derivationOf(pipeline);
  if (table === undefined || derivation === undefined) throw new Error(`${name} derives no entries`);
  return { table, derivation };
}

/** The estimated size of the `raw` texts of a file of events, in bytes. */
export function estimatedRawBytes({ size }: Pick<DataFile, 'size'>): number {
  return size * 4;
}

/** A file of events whose entries are derived again, in a form that is transferred to threads. */
export interface StoredEventFile extends Pick<DataFile, 'pipeline' | 'account' | 'loadKeys' | 'size'> {
  readonly file: ParquetSource;
  /** The entries whose bytes are compared; undefined: the derived entries are written without a comparison. */
  readonly stored: StoredEntries | undefined;
  /** Bytes of `raw` that are derived at once. */
  readonly rawBytes: number;
  /** Folder for the local files; it does not exist yet. */
  readonly folder: string;
}

/** The stored entries of a file of events. */
export interface StoredEntries {
  /** Local files. */
  readonly files: readonly string[];
  /** The net sums of each, as the log has them. */
  readonly nets: readonly (NetSums | undefined)[];
  /** The hash of the only file, where its bytes are probably equal: comparing bytes takes half the time of comparing rows. */
  readonly sha256: string | undefined;
}

/** The entries of a file of events that were derived again. */
export interface RederivedEntries {
  readonly events: number;
  readonly rows: number;
  readonly net: NetSums;
  /** The local files with the entries, in order; undefined where the stored file has the same bytes. */
  readonly files: readonly LocalParquet[] | undefined;
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Derives the entries of a file of events again, in batches that bound the memory, and writes them where their bytes differ from
 * those of the stored file.
 *
 * @throws LedgerlakeError LAKE_STORE where the file can't be read as one of events, what the encoder throws, or the signal's reason
 */
export async function rederivedEntries(
  derived: DerivedTable,
  events: StoredEventFile,
  signal?: AbortSignal,
): Promise<RederivedEntries> {
  const same = events.stored && (await sameByBytes(derived, events, events.stored, signal));
  if (same !== undefined) return same;
  const metadata = await metadataLike(events);
  const files: LocalParquet[] = [];
  await mkdir(events.folder, { mode: 0o700 });
  const totals = await eachBatch(derived, events, signal, async (batch) => {
    const { bytes, ...about } = await encodeFile(batch, metadata);
    const path = join(events.folder, `${files.length}.parquet`);
    await writeNewFile(path, bytes, { mode: 0o600 });
    files.push({ path, ...about });
  });
  return { ...totals, files, metadata };
}

/** The result where the entries encode to the bytes of the only stored file, with its footer's metadata; else undefined. */
async function sameByBytes(
  derived: DerivedTable,
  events: StoredEventFile,
  { files: [stored], nets, sha256 }: StoredEntries,
  signal: AbortSignal | undefined,
): Promise<RederivedEntries | undefined> {
  if (stored === undefined || sha256 === undefined) return undefined;
  // The stored file may not be a Parquet file.
  const footer = await footerTexts(stored).catch(() => undefined);
  if (footer === undefined) return undefined;
  const hashes: string[] = [];
  const totals = await eachBatch(derived, events, signal, async (batch) => {
    const { content } = await encodeFile(batch, footer.metadata, footer.createdBy);
    hashes.push(content.sha256);
  });
  const isSame = hashes.length === 1 && hashes[0] === sha256 && hasNet(nets, totals.net);
  return isSame ? { ...totals, files: undefined, metadata: footer.metadata } : undefined;
}

/** Whether the stored files have the same net sums, columns and rows, in any order; false where they can't be read. */
export async function hasSameEntries(
  database: Database,
  table: Table,
  { files: stored, nets }: StoredEntries,
  { files = [], net }: RederivedEntries,
): Promise<boolean> {
  if (!hasNet(nets, net)) return false;
  const derived = files.map(({ path }) => path);
  if (stored.length === 0 || derived.length === 0) return stored.length === derived.length;
  const columnTypes = async (paths: readonly string[]) =>
    JSON.stringify(
      await database.rows(`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM ${rowsIn(paths)})`),
    );
  const rowsWithMonth = (paths: readonly string[]) => `SELECT *, NULL AS month_ FROM ${rowsIn(paths)}`;
  try {
    const hasSameColumns = (await columnTypes(stored)) === (await columnTypes(derived));
    return hasSameColumns && (await sameRows(database, table, rowsWithMonth(stored), rowsWithMonth(derived)));
  } catch (error) {
    // Their rows are derived again.
    if (error instanceof DamagedFile || codeOf(error) === 'SQL') return false;
    throw error;
  }
}

/** The memory of a batch's columns, one for each thread. */
const memory = new ReusedMemory(columnBytes);

async function eachBatch(
  derived: DerivedTable,
  { size, file, rawBytes }: StoredEventFile,
  signal: AbortSignal | undefined,
  use: (batch: DerivedBatch) => Promise<void> | void,
): Promise<Pick<RederivedEntries, 'events' | 'rows' | 'net'>> {
  const nets: NetSums[] = [];
  let events = 0;
  let rows = 0;
  // Several batches are in memory at once, so a file that needs more than one has smaller ones.
  const batchBytes = estimatedRawBytes({ size }) > rawBytes ? Math.ceil(rawBytes / 3) : rawBytes;
  for await (const batch of rederivedBatches(derived, file, batchBytes, memory)) {
    signal?.throwIfAborted();
    events += batch.mainRows;
    rows += batch.rows.numRows;
    nets.push(batch.net);
    if (batch.rows.numRows > 0) await use(batch);
    memory.clear();
  }
  return { events, rows, net: addNets(nets) };
}

/** Whether the stored files' entries in the log have these net sums. */
function hasNet(nets: StoredEntries['nets'], net: NetSums): boolean {
  return nets.every((one) => one !== undefined) && netText(addNets(nets)) === netText(net);
}

/** Net sums in a defined order, without zeros. */
function netText(net: NetSums): string {
  const sums = Object.entries(net).filter(([, sum]) => millionths(sum) !== 0n);
  return JSON.stringify(sums.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The metadata that this version of the program would write for the file's slice. */
async function metadataLike(events: StoredEventFile): Promise<ReadonlyMap<string, string>> {
  const { pipeline, account, loadKeys, file } = events;
  const stored: unknown = JSON.parse((await footerTexts(file)).metadata.get('ledgerlake') ?? '{}');
  const { window = loadKeysLabel(loadKeys) } = stored as { window?: string };
  return fileMetadata(pipeline, account, window);
}
