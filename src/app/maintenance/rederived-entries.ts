import type { RecordBatch } from 'apache-arrow';
import type { ByteRange } from '../../core/columns/arrays.js';
import { instantCells, textCells } from '../../core/columns/column-data.js';
import type { Dictionary } from '../../core/columns/dictionary.js';
import type { ColumnMemory } from '../../core/columns/memory.js';
import { RowSums } from '../../core/columns/row-sums.js';
import type { Table } from '../../core/columns/table.js';
import { entryBatch, netSums } from '../../sources/finances/model/event-batches.js';
import { Flattener } from '../../sources/finances/model/flatten.js';
import { newWarnings, none, SliceRows, type RawEvent } from '../../sources/finances/model/slice-rows.js';
import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import type { SizedWriter } from '../../core/parquet/thread.js';
import { type ParquetSource, keyValueMetadata, parquetBatches } from '../../core/parquet/wasm.js';
import type { Add } from '../../lake/delta/actions.js';
import { loadKeysOf } from '../../lake/delta/file-tags.js';
import { loadKeysLabel } from '../../lake/files/load-key-rows.js';
import { rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import { addNets, type NetSums, fileMetadata } from '../../lake/files/new-file.js';
import { sortedFile } from '../../lake/files/sorted-file.js';
import { handled, keptFile, type Workspace } from '../../lake/files/workspace.js';

/** What entries take of their events as they are stored, and the bytes that the rest is made from. */
const textColumns = ['event_id', 'event_list', 'amazon_order_id', 'marketplace', 'group_id', 'raw'] as const;
const instantColumns = ['posted_at', 'effective_at'] as const;

/** Bytes that are read at once: WASM holds them several times over, and never gives memory back. */
const readBytes = 1_000_000;

type Cells = Record<(typeof textColumns)[number], (row: number) => ByteRange | undefined> &
  Record<(typeof instantColumns)[number], (row: number) => bigint | undefined>;

/** The entries of some events, and what they come to. */
interface EntryBatch {
  readonly rows: RecordBatch;
  readonly net: NetSums;
  readonly events: number;
}

/**
 * Derives the entries of a file of events again from `raw`, in the order of the events, as they were derived when these were
 * received. In batches of about `batchBytes` of `raw`: they bound the memory, whatever the file's size.
 *
 * @param memory where a batch's columns lie; left out: each has its own
 * @throws Error where the bytes are no Parquet file of events
 */
async function* rederivedBatches(
  table: Table,
  file: ParquetSource,
  batchBytes: number,
  memory?: ColumnMemory,
): AsyncGenerator<EntryBatch> {
  let events = new StoredEvents();
  for await (const batch of parquetBatches(file, [...textColumns, ...instantColumns], readBytes)) {
    const cells = cellsOf(batch);
    for (let row = 0; row < batch.numRows; row++) {
      events.add(cells, row);
      if (events.bytes < batchBytes) continue;
      yield events.finish(table, memory);
      events = new StoredEvents();
    }
  }
  if (events.count > 0) yield events.finish(table, memory);
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

function cellsOf(batch: RecordBatch): Cells {
  const texts = textColumns.map((column) => [column, textCells(batch, column)] as const);
  const instants = instantColumns.map((column) => [column, instantCells(batch, column)] as const);
  return Object.fromEntries<unknown>([...texts, ...instants]) as Cells;
}

const nothing: RawEvent = { page: Buffer.alloc(0), start: 0, end: 0 };

/** Events read back from the lake, on their way to entries. */
class StoredEvents {
  bytes = 0;
  // The entries of an event take nothing of its bytes as they are.
  readonly #rows = new SliceRows(() => nothing);
  readonly #flattener = new Flattener(this.#rows, newWarnings());
  readonly #tape = new Tape();
  readonly #ids: string[] = [];
  readonly #effective: (bigint | undefined)[] = [];
  #group: string | undefined;

  get count(): number {
    return this.#ids.length;
  }

  /** Takes one event in. */
  add(cells: Cells, row: number): void {
    const { events, orders, places } = this.#rows;
    this.#beginSource(text(cells.group_id(row)));
    const raw = cells.raw(row);
    const bytes = raw === undefined ? Buffer.from('null') : raw.page.subarray(raw.start, raw.end);
    scan(bytes, this.#tape);
    const own = this.count;
    this.#flattener.add(this.#tape, text(cells.event_list(row)) ?? '', 0);
    // An entry repeats these of its event: what the event's row says, even if it would be read otherwise today.
    events.amazonOrderId.set(own, number(orders, cells.amazon_order_id(row)));
    events.marketplace.set(own, number(places, cells.marketplace(row)));
    events.postedAt[own] = cells.posted_at(row);
    this.#effective.push(cells.effective_at(row));
    this.#ids.push(text(cells.event_id(row)) ?? '');
    this.bytes += bytes.length;
  }

  finish(table: Table, memory: ColumnMemory | undefined): EntryBatch {
    const order = this.#ids.map((_, row) => row);
    const ids = { eventIds: this.#ids, contentHashes: [] };
    return {
      rows: entryBatch(table, { rows: this.#rows, ids, effective: this.#effective }, order, memory),
      net: netSums(this.#rows, order),
      events: this.count,
    };
  }

  /** Of what an event was received with, its entries show the group alone. */
  #beginSource(groupId: string | undefined): void {
    if (this.count > 0 && groupId === this.#group) return;
    this.#group = groupId;
    this.#rows.begin({
      windowStart: undefined,
      windowEnd: undefined,
      fallback: undefined,
      clamp: false,
      groupId,
      requestedOrderId: undefined,
    });
  }
}

function text(range: ByteRange | undefined): string | undefined {
  if (range === undefined) return undefined;
  const { page, start, end } = range;
  return Buffer.from(page.buffer, page.byteOffset + start, end - start).toString();
}

function number(dictionary: Dictionary, range: ByteRange | undefined): number {
  return range === undefined ? none : dictionary.add(range.page, range.start, range.end);
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
  table: Table,
  main: Add,
  file: ParquetSource,
  signal: AbortSignal,
): Promise<Rederiving> {
  const metadata = await metadataLike(main, file);
  const files: Promise<LocalParquet>[] = [];
  const nets: NetSums[] = [];
  const sums = new RowSums(table);
  let events = 0;
  const { rawBytes } = workspace.limits;
  // Several are in memory at once: what doesn't fit into one goes in smaller ones.
  const batchBytes = pageBytes(main) > rawBytes ? Math.ceil(rawBytes / 3) : rawBytes;
  for await (const batch of rederivedBatches(table, file, batchBytes, writer.memory)) {
    signal.throwIfAborted();
    events += batch.events;
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
