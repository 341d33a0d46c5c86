import type { RecordBatch } from 'apache-arrow';
import { instantCells, textCells } from '../../core/columns/column-data.js';
import { ReusedMemory, type ColumnMemory } from '../../core/columns/memory.js';
import { RowSums } from '../../core/columns/row-sums.js';
import type { Table } from '../../core/columns/table.js';
import type { Derivation, DerivedBatch, StoredCells } from '../../engine/run/derivation.js';
import { columnBytes, type SizedWriter } from '../../core/parquet/thread.js';
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

/** What the entries of one file of events come to, derived again. */
export interface RederivedSums {
  readonly events: number;
  readonly rows: number;
  readonly net: NetSums;
  /** Sums of the rows' hashes. */
  readonly sums: RowSums;
}

/** The same, with the entries. */
export interface RederivedEntries extends RederivedSums {
  /** All of them as one local file; undefined where there is none. */
  readonly file: () => Promise<LocalParquet | undefined>;
}

/** Entries on their way: all of them are derived, some of their files may not be written yet. */
export interface Rederiving {
  /** Never unhandled where nobody waits for it any more. */
  readonly entries: Promise<RederivedEntries>;
}

/**
 * Derives the entries of a file of events again, whose commit is `main`, for what they come to: nothing is written, which is
 * most of the work.
 *
 * @throws Error where the bytes are no Parquet file of events, or the signal's reason
 */
export async function rederivedSums(
  workspace: Workspace,
  derived: DerivedTable,
  main: Add,
  file: ParquetSource,
  signal: AbortSignal,
): Promise<RederivedSums> {
  const memory = new ReusedMemory(columnBytes);
  const tally = new Tally(derived.table);
  for await (const batch of rederivedBatches(derived, file, batchBytesOf(workspace, main), memory)) {
    signal.throwIfAborted();
    tally.add(batch);
    memory.clear();
  }
  return tally.sums();
}

/**
 * Derives the entries of a file of events again, whose commit is `main`, and writes them: in batches, so that memory doesn't
 * grow with the file. Comes back once the writer has all of their rows.
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
  const tally = new Tally(table);
  for await (const batch of rederivedBatches(derived, file, batchBytesOf(workspace, main), writer.memory)) {
    signal.throwIfAborted();
    tally.add(batch);
    if (batch.rows.length === 0) continue;
    const taken = await writer.take(batch.rows, metadata);
    files.push(keptFile(taken, workspace.keep));
  }
  const written = async (): Promise<RederivedEntries> => {
    const locals = await Promise.all(files);
    const paths = locals.map(({ path }) => path);
    const select = (range: string) => `SELECT * FROM ${rowsIn(paths)} WHERE ${range}`;
    const joined = () => sortedFile(workspace, table, { paths, metadata, select }, { signal });
    return { ...tally.sums(), file: () => (locals.length > 1 ? joined() : Promise.resolve(locals[0])) };
  };
  return { entries: handled(written()) };
}

/** Several are in memory at once: what doesn't fit into one goes in smaller ones. */
function batchBytesOf({ limits: { rawBytes } }: Workspace, main: Add): number {
  return pageBytes(main) > rawBytes ? Math.ceil(rawBytes / 3) : rawBytes;
}

/** Counts batches of entries. */
class Tally {
  readonly #sums: RowSums;
  readonly #nets: NetSums[] = [];
  #events = 0;
  #rows = 0;

  constructor(table: Table) {
    this.#sums = new RowSums(table);
  }

  add({ rows, net, sources }: DerivedBatch): void {
    this.#events += sources;
    this.#rows += rows.length;
    this.#nets.push(net);
    if (rows.length > 0) this.#sums.add(rows.batch);
  }

  sums(): RederivedSums {
    return { events: this.#events, rows: this.#rows, net: addNets(this.#nets), sums: this.#sums };
  }
}

/** The metadata that the file's own slice gave it, by this version of the program. */
async function metadataLike(main: Add, file: ParquetSource): Promise<ReadonlyMap<string, string>> {
  const stored: unknown = JSON.parse((await keyValueMetadata(file)).get('ledgerlake') ?? '{}');
  const { window = loadKeysLabel(loadKeysOf(main)) } = stored as { window?: string };
  return fileMetadata(main.tags?.['pipeline'] ?? '', main.tags?.['account'] ?? '', window);
}
