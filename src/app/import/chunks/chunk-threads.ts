import { WorkerThread } from '../../../core/worker-thread.js';
import { defaultLimits, type Limits } from '../../../lake/files/workspace.js';
import type { ChunkEncoder, EncodedMonth, PlacedEvents } from './chunk-encoder.js';
import type { ChunkFlattener, ChunkRows, FlattenedChunk } from './chunk-flattener.js';
import { GatheredLines, type ChunkLines } from './chunk-lines.js';
import type { PageSpans } from './page-spans.js';

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
  | { readonly call: 'encode'; readonly lines: ChunkLines; readonly rows: ChunkRows; readonly events: PlacedEvents };

/** A chunk on any thread. */
export interface ChunkTask {
  /** The chunk owns the bytes until they are flattened. `spans`: see `ChunkFlattener.flatten`. */
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
  /** Flatteners of this thread that aren't at work. */
  readonly #free: ChunkFlattener[] = [];
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
   * Gathers the lines of a chunk in memory that all threads share: transferred memory counts as newly allocated for the receiving
   * thread, which makes its garbage collector run. It is reused, because repeated allocations of megabytes fragment the C library's heap.
   *
   * @param bytes of all lines at most
   */
  gather(bytes: number): GatheredLines {
    return new GatheredLines(bytes, (size) => {
      const last = this.#linesMemory.pop();
      return Buffer.from(last?.byteLength === size ? last : new SharedArrayBuffer(size));
    });
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
          return await steps.encode(lines, rows, events);
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
      encode: async (lines, rows, events) =>
        (await this.#threadOf('encode').ask({ call: 'encode', lines, rows, events })) as readonly EncodedMonth[],
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
        const flattener = this.#free.pop() ?? new (await import('./chunk-flattener.js')).ChunkFlattener();
        const flattened = flattener.flatten(lines, spans, memory);
        this.#free.push(flattener);
        return flattened;
      },
      encode: async (lines, rows, events) => {
        this.#encoder ??= import('./chunk-encoder.js').then((module) => new module.ChunkEncoder());
        return (await this.#encoder).encode(lines, rows, events);
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
  encode(lines: ChunkLines, rows: ChunkRows, events: PlacedEvents): Promise<readonly EncodedMonth[]>;
}
