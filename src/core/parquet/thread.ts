import { Worker } from 'node:worker_threads';
import { type RecordBatch, RecordBatchStreamWriter } from 'apache-arrow';
import type { Table } from '../columns/table.js';
import { LedgerlakeError, messageOf, type ErrorCode } from '../errors.js';
import { availableParallelism } from 'node:os';
import { ReusedMemory, type ColumnMemory } from '../columns/memory.js';
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
  take(table: Table, rows: RecordBatch, metadata: ReadonlyMap<string, string>): Promise<TakenRows>;
  /** Ends it; files that aren't there yet fail. */
  close(): Promise<void>;
}

/** Writes on the thread of its caller. */
export const sameThread: ParquetWriter = {
  take: async (table, rows, metadata) => ({ file: Promise.resolve(await encodeFile(table, rows, metadata)) }),
  close: () => Promise.resolve(),
};

/** Files under way at once: one that is being written, and two that wait so that the thread never does, as they come in pairs. */
const mostUnderWay = 3;

/** Bytes of the memory that rows go over in, and that is used again; larger ones go in memory of their own. */
const roomBytes = 16_000_000;

/** Rows lie outside the heap: a thread that needs more than this has gone wrong, and dies alone. */
export const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 6 };

/** A file to be written: its rows as an Arrow stream, whose memory goes over and comes back. */
export interface Job {
  readonly id: number;
  readonly table: Table;
  readonly metadata: ReadonlyMap<string, string>;
  readonly stream: Uint8Array<ArrayBuffer>;
}

/** What becomes of a job. */
export type Outcome = { readonly file: EncodedFile } | { readonly message: string; readonly code: ErrorCode };

/** What the thread says of a job, whose stream comes back with it. */
export type Answer = Pick<Job, 'id' | 'stream'> & Outcome;

interface UnderWay extends TakenRows {
  readonly resolve: (file: EncodedFile) => void;
  readonly reject: (error: unknown) => void;
}

export interface ThreadOptions {
  /** What is under way fails with its reason. */
  readonly signal: AbortSignal;
  /** What the thread runs: by default `thread-main.js`, built. */
  readonly script?: URL | undefined;
}

const ownScript = new URL('./thread-main.js', import.meta.url);

/**
 * A thread that writes files while its owner makes the rows of the next ones. If it dies,
 * whatever of, every file that isn't there yet fails with ENCODER. It starts with the first rows.
 */
export class ParquetThread implements ParquetWriter {
  readonly #script: URL;
  readonly #signal: AbortSignal;
  readonly #underWay = new Map<number, UnderWay>();
  #worker: Worker | undefined;
  readonly #rooms: ArrayBuffer[] = [];
  #jobs = 0;
  #ended: { readonly reason: unknown } | undefined;

  constructor({ signal, script = ownScript }: ThreadOptions) {
    this.#script = script;
    this.#signal = signal;
    signal.addEventListener('abort', this.#stop);
  }

  async take(table: Table, rows: RecordBatch, metadata: ReadonlyMap<string, string>): Promise<TakenRows> {
    while (this.#underWay.size >= mostUnderWay) {
      const [first] = this.#underWay.values();
      await first?.file.catch(() => undefined);
    }
    if (this.#ended !== undefined) throw this.#ended.reason;
    if (this.#worker === undefined) this.#start();
    const id = this.#jobs++;
    const job = underWay();
    this.#underWay.set(id, job);
    const stream = await arrowStream(rows, (bytes) => this.#room(bytes));
    const message: Job = { id, table, metadata, stream };
    this.#worker?.postMessage(message, [stream.buffer]);
    return job;
  }

  async close(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#stop);
    this.#fail(ended('it was closed'));
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #start(): void {
    const worker = new Worker(this.#script, { resourceLimits });
    this.#worker = worker;
    worker.on('message', (answer: Answer) => {
      this.#answered(answer);
    });
    const fail = (error: unknown): void => {
      this.#fail(ended(messageOf(error)));
    };
    worker.on('messageerror', fail);
    worker.on('error', fail);
    worker.on('exit', (code) => {
      if (worker === this.#worker) fail(`exit code ${code}`);
    });
  }

  #room(bytes: number): ArrayBuffer {
    return bytes > roomBytes ? new ArrayBuffer(bytes) : (this.#rooms.pop() ?? new ArrayBuffer(roomBytes));
  }

  #answered(answer: Answer): void {
    const { buffer } = answer.stream;
    if (buffer.byteLength === roomBytes) this.#rooms.push(buffer);
    const job = this.#underWay.get(answer.id);
    this.#underWay.delete(answer.id);
    if ('file' in answer) job?.resolve(answer.file);
    else job?.reject(new LedgerlakeError(answer.code, answer.message));
  }

  #fail(reason: unknown): void {
    this.#ended ??= { reason };
    for (const { reject } of this.#underWay.values()) reject(this.#ended.reason);
    this.#underWay.clear();
  }

  readonly #stop = (): void => {
    this.#fail(this.#signal.reason);
  };
}

function underWay(): UnderWay {
  let settle: Pick<UnderWay, 'resolve' | 'reject'> | undefined;
  const file = new Promise<EncodedFile>((resolve, reject) => {
    settle = { resolve, reject };
  });
  file.catch(() => undefined);
  return {
    file,
    resolve: (of) => settle?.resolve(of),
    reject: (error) => settle?.reject(error),
  };
}

function ended(why: string): LedgerlakeError {
  return new LedgerlakeError(
    'ENCODER',
    `expected the thread that writes Parquet to go on to the end, it ended (${why}); run the same command again`,
  );
}

/**
 * A batch as an Arrow stream: a copy of what it holds.
 *
 * @param room gives memory of at least so many bytes
 */
export async function arrowStream(
  rows: RecordBatch,
  room: (bytes: number) => ArrayBuffer,
): Promise<Uint8Array<ArrayBuffer>> {
  const writer = new RecordBatchStreamWriter();
  writer.write(rows);
  writer.finish();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of writer as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    length += piece.length;
  }
  const stream = new Uint8Array(room(length), 0, length);
  let at = 0;
  for (const piece of pieces) {
    stream.set(piece, at);
    at += piece.length;
  }
  return stream;
}

/** When a thread is worth its start. */
export interface ThreadLimits {
  /** Bytes of input from which on one is used; Infinity: never. */
  readonly from: number;
  /** What it runs, where it isn't the program's own. */
  readonly script?: URL | undefined;
}

/** Limits for so many threads in all: with one, none of its own writes. */
export function threadLimitsOf(threads: number): ThreadLimits {
  // Below, a thread gains nothing by the clock and costs half a CPU second: docs/performance.md.
  return { from: threads > 1 ? 48_000_000 : Infinity };
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
