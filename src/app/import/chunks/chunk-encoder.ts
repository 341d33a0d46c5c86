import { columnBytes, int64sOf, ReusedMemory } from '../../../core/columns/memory.js';
import { Mutex } from '../../../core/mutex.js';
import { encodeFile, type EncodedFile } from '../../../core/parquet/encode-file.js';
import type { NetSums } from '../../../lake/delta/data-file.js';
import { attributes } from '../../../sources/finances/api-v0/attributes.js';
import { finishedSlice } from '../../../sources/finances/api-v0/event-batches.js';
import { entries, events } from '../../../sources/finances/api-v0/event-tables.js';
import { HashedIds } from '../../../sources/finances/model/event-ids.js';
import { monthBatches } from '../../../sources/finances/model/slice-batches.js';
import { SliceRows } from '../../../sources/finances/model/slice-rows.js';
import type { ChunkRows } from './chunk-flattener.js';
import { privateCopy, type ChunkLines } from './chunk-lines.js';

/** The events of a chunk as they are written. */
export interface PlacedEvents {
  /** Which one each event is of equal ones, from 1. */
  readonly nth: Int32Array<ArrayBuffer>;
  /** The position of each event in its span. */
  readonly positions: Int32Array<ArrayBuffer>;
  readonly months: readonly {
    readonly month: string;
    /** Rows of its events, in order of receipt. */
    readonly rows: Int32Array<ArrayBuffer>;
    /** The metadata of its files. */
    readonly metadata: ReadonlyMap<string, string>;
  }[];
}

/** A month of a chunk as files. */
export interface EncodedMonth {
  readonly events: EncodedFile;
  /** Undefined where no event has an amount. */
  readonly entries: EncodedFile | undefined;
  /** Net sums by currency, as JSON for the log. */
  readonly net: NetSums;
}

/** Encodes chunks, one after the other. */
export class ChunkEncoder {
  readonly #rows = new SliceRows(attributes);
  /** Memory for the columns of one file at a time. */
  readonly #memory = new ReusedMemory(columnBytes);
  #lines = Buffer.alloc(0);
  /** Guards the memory. */
  readonly #mutex = new Mutex();

  /**
   * Encodes a chunk's months as files, in their order, once the chunks before are encoded.
   *
   * @throws LedgerlakeError PARQUET_MISMATCH, ENCODER
   */
  encode(lines: ChunkLines, rows: ChunkRows, events: PlacedEvents): Promise<EncodedMonth[]> {
    return this.#mutex.run(() => this.#encodeNow(lines, rows, events));
  }

  async #encodeNow(lines: ChunkLines, rows: ChunkRows, placed: PlacedEvents): Promise<EncodedMonth[]> {
    this.#memory.clear();
    this.#lines = privateCopy(lines, this.#lines);
    this.#rows.take(rows.memory, this.#lines);
    const { nth, positions, months } = placed;
    this.#rows.events.position.assign(positions);
    const ids = new HashedIds(this.#rows, rows.hashes);
    const effective = int64sOf(rows.instants);
    const finished = finishedSlice({ rows: this.#rows, ids: ids.numbered(nth), effective }, this.#memory);
    const encoded: EncodedMonth[] = [];
    for (const { month, rows: ofMonth, metadata } of months) {
      const files = new Map<string, EncodedFile>();
      let net: NetSums = {};
      for (const batch of monthBatches({ events, entries }, finished, month, [...ofMonth])) {
        files.set(batch.table.name, await encodeFile(batch, metadata));
        this.#memory.clear();
        net = batch.net ?? net;
      }
      const main = files.get(events.name);
      if (main !== undefined) encoded.push({ events: main, entries: files.get(entries.name), net });
    }
    return encoded;
  }
}
