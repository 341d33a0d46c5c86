import { WorkerThread } from '../../core/worker-thread.js';
import { defaultLimits, type Limits } from '../../lake/files/workspace.js';
import type { PageSpans } from './page-spans.js';
import type {
  Chunk,
  ChunkEncoder,
  ChunkLines,
  ChunkRows,
  EncodedMonth,
  FlattenedChunk,
  PlacedChunk,
  PlacedEvents,
} from './chunk.js';
import { alignedWith } from '../../core/columns/memory.js';

/** The memory limits of an import. */
export interface ImportLimits extends Limits {
  /** Bytes of pages that are flattened at once. */
  readonly chunkBytes: number;
}

/** A chunk is about 5,000 events with ten amounts each, and takes several times its bytes of memory while it is processed. */
export const importLimits: ImportLimits = {
  ...defaultLimits,
  memory: '128MB',
  chunkBytes: 8_000_000,
};

/** A step of a chunk on a thread. */
export type ChunkCall =
  | {
      readonly call: 'flatten';
      readonly lines: ChunkLines;
      readonly spans: PageSpans | undefined;
      readonly memory: SharedArrayBuffer | undefined;
    }
  | { readonly call: 'encode'; readonly chunk: PlacedChunk };

/** A chunk on any thread. */
export interface ChunkTask {
  /** The chunk owns the bytes until they are flattened. `spans`: see `Chunk.flatten`. */
  flatten(lines: ChunkLines, spans?: PageSpans): Promise<FlattenedChunk>;
  /** Encodes the events, once they are flattened. */
  encode(events: PlacedEvents): Promise<readonly EncodedMonth[]>;
  /** Releases a chunk that isn't encoded. Never throws. */
  discard(): void;
}

const threadScript = new URL('./chunk-thread-main.js', import.meta.url);

/** Concurrent chunks of a thread: it processes one while the other is transferred, or waits for those before. */
const mostChunksPerThread = 2;

/** Processes chunks on the caller's thread while the input is small, and on worker threads from then on. */
export class ChunkThreads {
  readonly #limits: ImportLimits;
  readonly #signal: AbortSignal;
  readonly #threads: WorkerThread<ChunkCall, unknown>[] = [];
  /** Chunks that aren't encoded yet. */
  readonly #pending = new Set<Promise<void>>();
  /** Memory of encoded lines, for further ones. */
  readonly #linesMemory: SharedArrayBuffer[] = [];
  /** Memory of encoded rows, for further ones. */
  readonly #rowsMemory: SharedArrayBuffer[] = [];
  /** Chunks of this thread that can take further lines. */
  readonly #free: Chunk[] = [];
  #encoder: Promise<ChunkEncoder> | undefined;
  #isThreaded = false;

  constructor(limits: ImportLimits, signal: AbortSignal) {
    this.#limits = limits;
    this.#signal = signal;
  }

  /** Sets how many bytes the input has at least, and starts the threads for them. */
  expect(bytes: number): void {
    this.#isThreaded ||= bytes >= this.#limits.thread.from;
    if (!this.#isThreaded) return;
    const threads = Math.min(this.#mostThreads, Math.ceil(bytes / this.#limits.chunkBytes));
    while (this.#threads.length < threads) this.#addThread();
  }

  /** Resolves once another chunk may start. */
  async vacancy(): Promise<void> {
    while (this.#pending.size >= this.#mostPending) await Promise.race(this.#pending);
  }

  /** Counts a chunk as pending until its promise settles. */
  occupy(chunk: Promise<void>): void {
    this.#pending.add(chunk);
    void chunk.finally(() => this.#pending.delete(chunk));
  }

  get #mostPending(): number {
    return this.#isThreaded ? mostChunksPerThread * this.#mostThreads : 1;
  }

  /**
   * Memory for a chunk's lines, which all threads share: transferred memory counts as newly allocated for the receiving thread,
   * which makes its garbage collector run. It is reused, because repeated allocations of megabytes fragment the C library's heap.
   */
  linesMemory(bytes: number): Buffer<SharedArrayBuffer> {
    const last = this.#linesMemory.pop();
    return Buffer.from(last?.byteLength === bytes ? last : new SharedArrayBuffer(bytes));
  }

  /** A new chunk. It keeps its lines and rows between its steps, and releases their memory for further chunks at its end. */
  nextTask(): ChunkTask {
    const steps = this.#isThreaded ? this.#threaded() : this.#unthreaded();
    let lines: ChunkLines | undefined;
    let rows: ChunkRows | undefined;
    let flattening: Promise<FlattenedChunk> | undefined;
    const end = (): void => {
      if (lines !== undefined) this.#linesMemory.push(lines.bytes.buffer);
      if (rows !== undefined) this.#rowsMemory.push(rows.reusable);
      lines = rows = undefined;
    };
    return {
      flatten: async (chunkLines, spans) => {
        lines = chunkLines;
        const flattened = await (flattening = steps.flatten(chunkLines, spans, this.#rowsMemory.pop()));
        rows = flattened.flat?.rows;
        if (flattened.repaired !== undefined) lines = flattened.repaired;
        return flattened;
      },
      encode: async (events) => {
        if (lines === undefined || rows === undefined) throw new Error('expected a chunk that is flattened');
        try {
          return await steps.encode({ lines, rows, events });
        } finally {
          end();
        }
      },
      discard: () => {
        void Promise.allSettled([flattening]).then(end);
      },
    };
  }

  get #mostThreads(): number {
    return this.#limits.thread.threads ?? 2;
  }

  /** Ends the threads, and releases all memory. Further chunks are processed on the caller's thread until `expect` says otherwise. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.splice(0).map((thread) => thread.close()));
    for (const memory of [this.#linesMemory, this.#rowsMemory, this.#free]) memory.length = 0;
    this.#isThreaded = false;
  }

  #threaded(): ChunkSteps {
    return {
      flatten: async (lines, spans, memory) =>
        (await this.#threadOf('flatten').ask({ call: 'flatten', lines, spans, memory })) as FlattenedChunk,
      encode: async (chunk) =>
        (await this.#threadOf('encode').ask({ call: 'encode', chunk })) as readonly EncodedMonth[],
    };
  }

  /**
   * The least busy thread of a step. Threads alternate between flattening and encoding, because each thread compiles the code that
   * it runs, which takes as long as a hundred megabytes; the last of an odd number does both.
   */
  #threadOf(step: 'flatten' | 'encode'): WorkerThread<ChunkCall, unknown> {
    while (this.#threads.length < Math.min(2, this.#mostThreads)) this.#addThread();
    const odd = this.#threads.length % 2 === 1 ? this.#threads.length - 1 : undefined;
    const candidates = this.#threads.filter(
      (_, number) => number === odd || number % 2 === (step === 'flatten' ? 0 : 1),
    );
    const [least = this.#addThread()] = candidates.toSorted((one, other) => one.waiting - other.waiting);
    return least;
  }

  #addThread(): WorkerThread<ChunkCall, unknown> {
    const thread = new WorkerThread<ChunkCall, unknown>(this.#limits.thread.script ?? threadScript, this.#signal);
    thread.start();
    this.#threads.push(thread);
    return thread;
  }

  /** The steps on the caller's thread. Their errors are rejections, as those of a worker thread are. */
  #unthreaded(): ChunkSteps {
    return {
      flatten: async (lines, spans, memory) => {
        const chunk = this.#free.pop() ?? new (await import('./chunk.js')).Chunk();
        const flattened = chunk.flatten(lines, spans, memory);
        this.#free.push(chunk);
        return flattened;
      },
      encode: async (chunk) => {
        this.#encoder ??= import('./chunk.js').then((module) => new module.ChunkEncoder());
        return (await this.#encoder).encode(chunk);
      },
    };
  }
}

/** The steps of a chunk on a thread, given the results of the steps before. */
interface ChunkSteps {
  flatten(
    lines: ChunkLines,
    spans: PageSpans | undefined,
    memory: SharedArrayBuffer | undefined,
  ): Promise<FlattenedChunk>;
  encode(chunk: PlacedChunk): Promise<readonly EncodedMonth[]>;
}

/** Lines of a chunk at most: each takes memory for its position and its faults. */
const mostLines = 10_000;

/** Lines that are gathered for one chunk. */
export class GatheredLines {
  /** Bytes of all lines. */
  length = 0;
  readonly #room: number;
  readonly #bytes: Buffer<SharedArrayBuffer>;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** @param bytes of all lines at most */
  constructor(threads: ChunkThreads, bytes: number) {
    this.#room = bytes;
    this.#bytes = threads.linesMemory(bytes + mostLines * Float64Array.BYTES_PER_ELEMENT);
  }

  get isFull(): boolean {
    return this.#ends.length === mostLines;
  }

  hasRoom(bytes: number): boolean {
    return !this.isFull && this.length + bytes <= this.#room;
  }

  /** Copies a line. */
  add(line: Uint8Array): void {
    const start = alignedWith(line, this.#ends.at(-1) ?? 0);
    this.#bytes.set(line, start);
    this.length += line.length;
    this.#starts.push(start);
    this.#ends.push(start + line.length);
  }

  get lines(): ChunkLines {
    return { bytes: this.#bytes, starts: Int32Array.from(this.#starts), ends: Int32Array.from(this.#ends) };
  }
}
