import type { RecordBatch } from 'apache-arrow';
import { instantCells, textCells } from '../../core/columns/column-data.js';
import type { ColumnMemory } from '../../core/columns/memory.js';
import { RowSums } from '../../core/columns/row-sums.js';
import type { Table } from '../../core/columns/table.js';
import type { Derivation, DerivedBatch, StoredCells } from '../../engine/run/derivation.js';
import type { SizedWriter } from '../../core/parquet/thread.js';
import { type ParquetSource, keyValueMetadata, parquetBatches } from '../../core/parquet/wasm.js';
import type { Add } from '../../lake/delta/actions.js';
import { loadKeysOf } from '../../lake/delta/file-tags.js';
import { loadKeysLabel } from '../../lake/files/load-key-rows.js';
import { rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import { addNets, type NetSums, fileMetadata } from '../../lake/files/new-file.js';
import { sortedFile } from '../../lake/files/sorted-file.js';
import { handled, keptFile, type Workspace } from '../../lake/files/workspace.js';

/** Bytes that are read at once: WASM holds them several times over, and never gives memory back. */
const readBytes = 1_000_000;

/**
 * Derives the entries of a file of events again from `raw`, in the order of the events, as they were derived when these were
 * received. In batches of about `batchBytes` of `raw`: they bound the memory, whatever the file's size.
 *
 * @param memory where a batch's columns lie; left out: each has its own
 * @throws Error where the bytes are no Parquet file of events
 */
async function* rederivedBatches(
  { table, derivation }: DerivedTable,
  file: ParquetSource,
  batchBytes: number,
  memory?: ColumnMemory,
): AsyncGenerator<DerivedBatch> {
  let rows = derivation.begin();
  for await (const batch of parquetBatches(file, [...derivation.texts, ...derivation.instants], readBytes)) {
    const cells = cellsOf(batch, derivation);
    for (let row = 0; row < batch.numRows; row++) {
      rows.add(cells, row);
      if (rows.bytes < batchBytes) continue;
      yield rows.finish(table, memory);
      rows = derivation.begin();
    }
  }
  if (rows.count > 0) yield rows.finish(table, memory);
}

/** Bytes of stored entries that are read at once; what repeats in them takes many times as much then. */
const storedBytes = 200_000;

/** What the rows of stored files come to. */
export async function storedSums(table: Table, stored: readonly ParquetSource[]): Promise<RowSums> {
  const sums = new RowSums(table);
  for (const file of stored) {
    for await (const batch of parquetBatches(file, 'all', storedBytes)) sums.add(batch);
  }
  return sums;
}

function cellsOf(batch: RecordBatch, { texts, instants }: Derivation): StoredCells {
  const textsOf = new Map(texts.map((column) => [column, textCells(batch, column)]));
  const instantsOf = new Map(instants.map((column) => [column, instantCells(batch, column)]));
  return {
    text: (column, row) => textsOf.get(column)?.(row),
    instant: (column, row) => instantsOf.get(column)?.(row),
  };
}

/** A table, and how its rows follow from those of the main one. */
export interface DerivedTable {
  readonly table: Table;
  readonly derivation: Derivation;
}

/** About how many bytes of pages a file of events stands for. */
export function pageBytes({ size }: Add): number {
  return size * 4;
}

/** The entries of one file of events, derived again. */
export interface RederivedEntries {
  readonly events: number;
  readonly rows: number;
  readonly net: NetSums;
  /** Sums of the rows' hashes. */
  readonly sums: RowSums;
  /** All of them as one local file; undefined where there is none. */
  readonly file: () => Promise<LocalParquet | undefined>;
}

/** Entries on their way: all of them are derived, some of their files may not be written yet. */
export interface Rederiving {
  /** Never unhandled where nobody waits for it any more. */
  readonly entries: Promise<RederivedEntries>;
}

/**
 * Derives the entries of a file of events again, whose commit is `main`: in batches, so that memory doesn't grow with the file.
 * Comes back once the writer has all of their rows.
 *
 * @throws Error where the bytes are no Parquet file of events, what the writer throws, or the signal's reason
 */
export async function rederive(
  workspace: Workspace,
  writer: SizedWriter,
  derived: DerivedTable,
  main: Add,
  file: ParquetSource,
  signal: AbortSignal,
): Promise<Rederiving> {
  const { table } = derived;
  const metadata = await metadataLike(main, file);
  const files: Promise<LocalParquet>[] = [];
  const nets: NetSums[] = [];
  const sums = new RowSums(table);
  let events = 0;
  const { rawBytes } = workspace.limits;
  // Several are in memory at once: what doesn't fit into one goes in smaller ones.
  const batchBytes = pageBytes(main) > rawBytes ? Math.ceil(rawBytes / 3) : rawBytes;
  for await (const batch of rederivedBatches(derived, file, batchBytes, writer.memory)) {
    signal.throwIfAborted();
    events += batch.sources;
    nets.push(batch.net);
    if (batch.rows.numRows === 0) continue;
    sums.add(batch.rows);
    const taken = await writer.take(table, batch.rows, metadata);
    files.push(keptFile(taken, workspace.keep));
  }
  const written = async (): Promise<RederivedEntries> => {
    const locals = await Promise.all(files);
    const rows = locals.reduce((sum, local) => sum + local.rows, 0);
    const paths = locals.map(({ path }) => path);
    const select = (range: string) => `SELECT * FROM ${rowsIn(paths)} WHERE ${range}`;
    const joined = () => sortedFile(workspace, table, { paths, metadata, select }, { signal });
    return {
      ...{ events, rows, net: addNets(nets), sums },
      file: () => (locals.length > 1 ? joined() : Promise.resolve(locals[0])),
    };
  };
  return { entries: handled(written()) };
}

/** The metadata that the file's own slice gave it, by this version of the program. */
async function metadataLike(main: Add, file: ParquetSource): Promise<ReadonlyMap<string, string>> {
  const stored: unknown = JSON.parse((await keyValueMetadata(file)).get('ledgerlake') ?? '{}');
  const { window = loadKeysLabel(loadKeysOf(main)) } = stored as { window?: string };
  return fileMetadata(main.tags?.['pipeline'] ?? '', main.tags?.['account'] ?? '', window);
}
