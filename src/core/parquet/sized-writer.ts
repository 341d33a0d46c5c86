import { availableParallelism } from 'node:os';
import type { RecordBatch } from 'apache-arrow';
import { ReusedMemory, type ColumnMemory } from '../columns/memory.js';
import type { Table } from '../columns/table.js';
import { ParquetThread, type ThreadOptions } from './thread.js';
import { sameThread, type ParquetWriter, type TakenRows } from './writer.js';

/** When a thread is worth its start. */
export interface ThreadLimits {
  /** Bytes of input from which on one is used; Infinity: never. */
  readonly from: number;
  /** What it runs, where it isn't the program's own. */
  readonly script?: URL | undefined;
}

/** Below, a thread gains nothing by the clock and costs half a CPU second: docs/performance.md. */
export const threadLimits: ThreadLimits = { from: availableParallelism() > 1 ? 48_000_000 : Infinity };

/** More than the columns of a part of an import take. */
const columnBytes = 16_000_000;

/** Writes on its caller's thread as long as the input is small, and on a thread of its own from then on. */
export class SizedWriter implements ParquetWriter {
  readonly #memory = new ReusedMemory(columnBytes);
  readonly #limits: ThreadLimits;
  readonly #options: ThreadOptions;
  #thread: ParquetThread | undefined;

  constructor(limits: ThreadLimits, signal: AbortSignal) {
    this.#limits = limits;
    this.#options = { signal, script: limits.script };
  }

  /** Where the columns of the rows that it takes next may lie: once it has had these, the memory is given out anew. */
  get memory(): ColumnMemory {
    return this.#memory;
  }

  /** Tells how many bytes the input has at least, as soon as that is known. */
  expect(bytes: number): void {
    if (bytes >= this.#limits.from) this.#thread ??= new ParquetThread(this.#options);
  }

  async take(table: Table, rows: RecordBatch, metadata: ReadonlyMap<string, string>): Promise<TakenRows> {
    try {
      return await (this.#thread ?? sameThread).take(table, rows, metadata);
    } finally {
      this.#memory.clear();
    }
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }
}

/** Uses a writer and ends it. Throws what `use` throws. */
export async function withWriter<T>(
  limits: ThreadLimits,
  signal: AbortSignal,
  use: (writer: SizedWriter) => Promise<T>,
): Promise<T> {
  const writer = new SizedWriter(limits, signal);
  try {
    return await use(writer);
  } finally {
    await writer.close();
  }
}
