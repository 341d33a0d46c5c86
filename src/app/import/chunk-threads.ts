import { WorkerThread } from '../../core/worker-thread.js';
import { defaultLimits, type Limits } from '../../lake/files/workspace.js';
import type {
  Chunk,
  ChosenEvents,
  ChunkEncoder,
  ChunkLines,
  ChunkRows,
  DedupedChunk,
  EncodedMonth,
  FlattenedChunk,
  AssignedChunk,
} from './chunk.js';

/** What an import may hold in memory. */
export interface ImportLimits extends Limits {
  /** Bytes of pages that are flattened at once. */
  readonly chunkBytes: number;
}

/** A part is about 5,000 events with ten amounts each; what is made of it takes several times its bytes for a moment. */
export const importLimits: ImportLimits = {
  ...defaultLimits,
  memory: '256MB',
  chunkBytes: 8_000_000,
};

/** A call of a chunk's, by its number. */
export type ChunkCall = { readonly chunk: number } & (
  | { readonly call: 'flatten'; readonly lines: ChunkLines; readonly memory: SharedArrayBuffer | undefined }
  | { readonly call: 'assign-days'; readonly before: bigint | undefined }
  | { readonly call: 'encode'; readonly deduped: DedupedChunk }
  | { readonly call: 'discard' }
);

/**
 * A chunk, on whatever thread. Its methods are called in their order: `assignDays` only where `flatten` could not assign them, and
 * `discard` instead of those that remain.
 */
export interface ChunkTask {
  /** The bytes are the chunk's until they are flattened. */
  flatten(lines: ChunkLines): Promise<FlattenedChunk>;
  assignDays(before: bigint | undefined): Promise<AssignedChunk>;
  encode(chosen: ChosenEvents): Promise<readonly EncodedMonth[]>;
  /** Gives up the chunk. Never throws. */
  discard(): void;
}

const threadScript = new URL('./chunk-thread-main.js', import.meta.url);

/** Chunks of a thread at once: it processes one while the other is handed over, or waits for its turn. */
const mostChunksPerThread = 2;

/** Chunks on their caller's thread as long as the input is small, and on threads of their own from then on. */
export class ChunkThreads {
  readonly #limits: ImportLimits;
  readonly #signal: AbortSignal;
  readonly #threads: WorkerThread<ChunkCall, unknown>[] = [];
  /** Chunks of all inputs that are neither encoded nor waiting for a date yet. */
  readonly #pending = new Set<Promise<void>>();
  /** Memory of lines that are flattened. */
  readonly #linesMemory: SharedArrayBuffer[] = [];
  /** Memory of rows that are encoded. */
  readonly #rowsMemory: SharedArrayBuffer[] = [];
  /** Chunks of this thread that can take further lines. */
  readonly #free: Chunk[] = [];
  #encoder: Promise<ChunkEncoder> | undefined;
  #isThreaded = false;
  #chunkCount = 0;

  constructor(limits: ImportLimits, signal: AbortSignal) {
    this.#limits = limits;
    this.#signal = signal;
  }

  /** Tells how many bytes the input has at least, as soon as that is known: threads for them start at once. */
  expect(bytes: number): void {
    this.#isThreaded ||= bytes >= this.#limits.thread.from;
    if (!this.#isThreaded) return;
    const threads = Math.min(this.#mostThreads, Math.ceil(bytes / this.#limits.chunkBytes));
    while (this.#threads.length < threads) this.#addThread();
  }

  /** Comes back once another chunk may be begun. */
  async vacancy(): Promise<void> {
    while (this.#pending.size >= this.#most) await Promise.race(this.#pending);
  }

  /** Counts a chunk as pending until its promise settles. */
  occupy(chunk: Promise<void>): void {
    this.#pending.add(chunk);
    void chunk.finally(() => this.#pending.delete(chunk));
  }

  get #most(): number {
    return this.#isThreaded ? mostChunksPerThread * this.#mostThreads : 1;
  }

  /**
   * Memory for a chunk's lines, which all threads share: one that is handed over counts as new where it comes in, and the garbage
   * collector runs for it. It is used again: what comes and goes by the megabyte leaves holes behind in the C library's heap.
   */
  linesMemory(bytes: number): Buffer<SharedArrayBuffer> {
    const last = this.#linesMemory.pop();
    return Buffer.from(last?.byteLength === bytes ? last : new SharedArrayBuffer(bytes));
  }

  /** The next chunk. */
  nextTask(): ChunkTask {
    return this.#isThreaded ? this.#threaded() : this.#unthreaded();
  }

  get #mostThreads(): number {
    return this.#limits.thread.threads ?? 2;
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #threaded(): ChunkTask {
    const chunk = this.#chunkCount++;
    const flattening = this.#threadOf('flatten');
    /** Whether the thread has the chunk, whose days aren't known yet. */
    let isOnThread = false;
    return this.#chunkTask({
      flatten: async (lines, memory) => {
        const flattened = (await flattening.ask({ chunk, call: 'flatten', lines, memory })) as FlattenedChunk;
        isOnThread = flattened.assigned === undefined;
        return flattened;
      },
      assignDays: async (before) => {
        isOnThread = false;
        return (await flattening.ask({ chunk, call: 'assign-days', before })) as AssignedChunk;
      },
      encode: (deduped) =>
        this.#threadOf('encode').ask({ chunk, call: 'encode', deduped }) as Promise<readonly EncodedMonth[]>,
      discard: () => {
        if (isOnThread) void flattening.ask({ chunk, call: 'discard' });
      },
    });
  }

  /**
   * The thread that has the least to do of all that do some work. Every other one flattens, the others encode, and an odd one does
   * both: each compiles what it runs, which takes as long as a hundred megabytes do.
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

  /** A chunk on the thread of its caller: what it throws is a rejection, as it is of another thread. */
  #unthreaded(): ChunkTask {
    const chunk = Promise.resolve(this.#free.pop() ?? import('./chunk.js').then((module) => new module.Chunk()));
    let isInUse = true;
    const free = (): void => {
      if (isInUse) void chunk.then((ended) => this.#free.push(ended));
      isInUse = false;
    };
    return this.#chunkTask({
      flatten: async (lines, memory) => {
        const flattened = (await chunk).flatten(lines, memory);
        if (flattened.assigned !== undefined) free();
        return flattened;
      },
      assignDays: async (before) => {
        const assigned = (await chunk).assignDays(before);
        free();
        return assigned;
      },
      encode: async (deduped) => {
        this.#encoder ??= import('./chunk.js').then((module) => new module.ChunkEncoder());
        return (await this.#encoder).encode(deduped);
      },
      discard: free,
    });
  }

  /** Keeps a chunk's lines and rows from call to call, and gives out the memory of the lines again once nobody needs them. */
  #chunkTask(steps: ChunkSteps): ChunkTask {
    let lines: ChunkLines | undefined;
    let rows: ChunkRows | undefined;
    let flattening: Promise<unknown> | undefined;
    const end = (): void => {
      if (lines !== undefined) this.#linesMemory.push(lines.bytes.buffer);
      if (rows !== undefined) this.#rowsMemory.push(rows.reusable);
      lines = rows = undefined;
    };
    return {
      flatten: async (chunkLines) => {
        lines = chunkLines;
        const flattened = await (flattening = steps.flatten(chunkLines, this.#rowsMemory.pop()));
        rows = flattened.assigned?.rows;
        return flattened;
      },
      assignDays: async (before) => {
        const assigned = await steps.assignDays(before);
        rows = assigned.rows;
        return assigned;
      },
      encode: async (chosen) => {
        if (lines === undefined || rows === undefined) throw new Error('expected a chunk whose days are assigned');
        try {
          return await steps.encode({ lines, rows, chosen });
        } finally {
          end();
        }
      },
      discard: () => {
        void Promise.allSettled([flattening]).then(() => {
          if (lines !== undefined) steps.discard();
          end();
        });
      },
    };
  }
}

/** What a thread does of a chunk, given what was done before. */
interface ChunkSteps extends Omit<ChunkTask, 'flatten' | 'encode'> {
  flatten(lines: ChunkLines, memory: SharedArrayBuffer | undefined): Promise<FlattenedChunk>;
  encode(deduped: DedupedChunk): Promise<readonly EncodedMonth[]>;
}
