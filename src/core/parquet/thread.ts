import { RecordBatchStreamWriter } from 'apache-arrow';
import type { Table } from '../columns/table.js';
import type { RowsPart, TableRows } from '../columns/table-rows.js';
import { availableParallelism } from 'node:os';
import { ReusedMemory, type ColumnMemory } from '../columns/memory.js';
import { WorkerThread } from '../worker-thread.js';
import { encodeFile, type EncodedFile } from './encode-file.js';

/** A file that is being written, or is written already. */
export interface TakenRows {
  /** Never unhandled where nobody waits for it any more. */
  readonly file: Promise<EncodedFile>;
}

/** Writes Parquet files, here or on another thread, with the same bytes. */
export interface ParquetWriter {
  /**
   * Takes the rows of a file. Comes back once the writer has had room for them, so that what is under way stays bounded, and
   * holds nothing of their memory any more; the file may come later.
   *
   * @throws LedgerlakeError PARQUET_MISMATCH, ENCODER; from here or from `file`
   */
  take(rows: TableRows, metadata: ReadonlyMap<string, string>): Promise<TakenRows>;
  /** Ends it; files that aren't there yet fail. */
  close(): Promise<void>;
}

/** Writes on the thread of its caller. */
export const sameThread: ParquetWriter = {
  take: async (rows, metadata) => ({ file: Promise.resolve(await encodeFile(rows, metadata)) }),
  close: () => Promise.resolve(),
};

/** Files under way at once: one that is being written, and two that wait so that the thread never does, as they come in pairs. */
const mostUnderWay = 3;

/** Bytes of the memory that rows go over in, and that is used again; larger ones go in memory of their own. */
const roomBytes = 16_000_000;

/** A file to be written: its rows as Arrow streams, whose memory goes over and comes back. */
export interface Job {
  readonly table: Table;
  readonly metadata: ReadonlyMap<string, string>;
  /** Rows of the file. */
  readonly length: number;
  /** One stream behind the other. */
  readonly stream: Uint8Array<ArrayBuffer>;
  /** A part of the rows for each stream: where it ends, and the lengths of its runs. */
  readonly parts: readonly { readonly end: number; readonly lengths: Int32Array | undefined }[];
}

/** What the thread says of a job. */
export interface JobAnswer extends Pick<Job, 'stream'> {
  readonly file: EncodedFile;
}

export interface ThreadOptions {
  /** What is under way fails with its reason. */
  readonly signal: AbortSignal;
  /** What the thread runs: by default `thread-main.js`, built. */
  readonly script?: URL | undefined;
}

const ownScript = new URL('./thread-main.js', import.meta.url);

/** A thread that writes files while its owner makes the rows of the next ones. */
export class ParquetThread implements ParquetWriter {
  readonly #thread: WorkerThread<Job, JobAnswer>;
  readonly #underWay = new Set<Promise<EncodedFile>>();
  readonly #rooms: ArrayBuffer[] = [];

  constructor({ signal, script = ownScript }: ThreadOptions) {
    this.#thread = new WorkerThread(script, signal);
  }

  async take(rows: TableRows, metadata: ReadonlyMap<string, string>): Promise<TakenRows> {
    while (this.#underWay.size >= mostUnderWay) {
      const [first] = this.#underWay;
      await first?.catch(() => undefined);
    }
    this.#thread.throwIfEnded();
    // From here on it is under way: the next call finds it so.
    const sent = arrowStreams(rows.parts, (bytes) => this.#room(bytes));
    const { table, length } = rows;
    const file = sent.then((streams) => this.#encoded({ table, metadata, length, ...streams }));
    this.#underWay.add(file);
    const done = (): void => void this.#underWay.delete(file);
    file.then(done, done);
    await sent;
    return { file };
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  async #encoded(job: Job): Promise<EncodedFile> {
    const { stream, file } = await this.#thread.ask(job, [job.stream.buffer]);
    if (stream.buffer.byteLength === roomBytes) this.#rooms.push(stream.buffer);
    return file;
  }

  #room(bytes: number): ArrayBuffer {
    return bytes > roomBytes ? new ArrayBuffer(bytes) : (this.#rooms.pop() ?? new ArrayBuffer(roomBytes));
  }
}

/**
 * Rows as Arrow streams: a copy of what they hold.
 *
 * @param room gives memory of at least so many bytes
 */
async function arrowStreams(
  rows: readonly RowsPart[],
  room: (bytes: number) => ArrayBuffer,
): Promise<Pick<Job, 'stream' | 'parts'>> {
  const pieces: Uint8Array[] = [];
  const parts: Job['parts'][number][] = [];
  let length = 0;
  for (const { batch, lengths } of rows) {
    const writer = new RecordBatchStreamWriter();
    writer.write(batch);
    writer.finish();
    for await (const piece of writer as AsyncIterable<Uint8Array>) {
      pieces.push(piece);
      length += piece.length;
    }
    // A copy: with a view all of the memory that it lies in would go over.
    parts.push({ end: length, lengths: lengths?.slice() });
  }
  const stream = new Uint8Array(room(length), 0, length);
  let at = 0;
  for (const piece of pieces) {
    stream.set(piece, at);
    at += piece.length;
  }
  return { stream, parts };
}

/** When a thread is worth its start. */
export interface ThreadLimits {
  /** Bytes of input from which on one is used; Infinity: never. */
  readonly from: number;
  /** How many work side by side, where they do; left out: two. */
  readonly threads?: number | undefined;
  /** What it runs, where it isn't the program's own. */
  readonly script?: URL | undefined;
}

/** Limits for so many threads: with one, the caller's does all. */
export function threadLimitsOf(threads: number): ThreadLimits {
  // Below, a thread gains nothing by the clock and costs half a CPU second: docs/performance.md.
  return { from: threads > 1 ? 48_000_000 : Infinity, threads };
}

/** As many as there are cores. */
export const threadLimits = threadLimitsOf(availableParallelism());

/** More than the columns of a part of an import take. */
export const columnBytes = 16_000_000;

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

  async take(rows: TableRows, metadata: ReadonlyMap<string, string>): Promise<TakenRows> {
    try {
      return await (this.#thread ?? sameThread).take(rows, metadata);
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
