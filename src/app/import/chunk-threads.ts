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
  PlacedChunk,
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
  | { readonly call: 'place'; readonly before: bigint | undefined }
  | { readonly call: 'encode'; readonly deduped: DedupedChunk }
  | { readonly call: 'discard' }
);

/**
 * A chunk, on whatever thread: its calls in the order that they stand in, without `place` where it is placed, or `discard` in
 * place of what is left of them.
 */
export interface ChunkWork {
  /** The bytes are the chunk's until they are flattened. */
  flatten(lines: ChunkLines): Promise<FlattenedChunk>;
  place(before: bigint | undefined): Promise<PlacedChunk>;
  encode(chosen: ChosenEvents): Promise<readonly EncodedMonth[]>;
  /** Gives up the chunk. Never throws. */
  discard(): void;
}

const ownScript = new URL('./chunk-thread-main.js', import.meta.url);

/** Chunks under way for each thread: it works on one while the other is waited for, or handed over. */
const mostOfThread = 2;

/** Chunks on their caller's thread as long as the input is small, and on threads of their own from then on. */
export class ChunkThreads {
  readonly #limits: ImportLimits;
  readonly #signal: AbortSignal;
  readonly #threads: WorkerThread<ChunkCall, unknown>[] = [];
  /** Chunks of all inputs that aren't encoded, or held, yet. */
  readonly #underWay = new Set<Promise<void>>();
  /** Memory of lines that are flattened. */
  readonly #rooms: SharedArrayBuffer[] = [];
  /** Memory of rows that are encoded. */
  readonly #rowsMemory: SharedArrayBuffer[] = [];
  /** Chunks of this thread that are placed. */
  readonly #free: Chunk[] = [];
  #encoder: Promise<ChunkEncoder> | undefined;
  #isThreaded = false;
  #begun = 0;

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
    while (this.#underWay.size >= this.#most) await Promise.race(this.#underWay);
  }

  /** Counts a chunk as under way until it is done with. */
  occupy(chunk: Promise<void>): void {
    this.#underWay.add(chunk);
    void chunk.finally(() => this.#underWay.delete(chunk));
  }

  get #most(): number {
    return this.#isThreaded ? mostOfThread * this.#mostThreads : 1;
  }

  /**
   * Memory for a chunk's lines, which all threads share: one that is handed over counts as new where it comes in, and the garbage
   * collector runs for it. It is used again: what comes and goes by the megabyte leaves holes behind in the C library's heap.
   */
  room(bytes: number): Buffer<SharedArrayBuffer> {
    const last = this.#rooms.pop();
    return Buffer.from(last?.byteLength === bytes ? last : new SharedArrayBuffer(bytes));
  }

  /** The next chunk. */
  begin(): ChunkWork {
    return this.#isThreaded ? this.#threaded() : this.#onOwnThread();
  }

  get #mostThreads(): number {
    return this.#limits.thread.threads ?? 2;
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #threaded(): ChunkWork {
    const chunk = this.#begun++;
    const flattening = this.#threadOf('flatten');
    /** Whether the thread has the chunk, whose days aren't known yet. */
    let isThere = false;
    return this.#chunkWork({
      flatten: async (lines, memory) => {
        const flattened = (await flattening.ask({ chunk, call: 'flatten', lines, memory })) as FlattenedChunk;
        isThere = flattened.placed === undefined;
        return flattened;
      },
      place: async (before) => {
        isThere = false;
        return (await flattening.ask({ chunk, call: 'place', before })) as PlacedChunk;
      },
      encode: (deduped) =>
        this.#threadOf('encode').ask({ chunk, call: 'encode', deduped }) as Promise<readonly EncodedMonth[]>,
      discard: () => {
        if (isThere) void flattening.ask({ chunk, call: 'discard' });
      },
    });
  }

  /**
   * The thread that has the least to do of all that do some work. Every other one flattens, the others encode, and an odd one does
   * both: each compiles what it runs, which takes as long as a hundred megabytes do.
   */
  #threadOf(work: 'flatten' | 'encode'): WorkerThread<ChunkCall, unknown> {
    while (this.#threads.length < Math.min(2, this.#mostThreads)) this.#addThread();
    const odd = this.#threads.length % 2 === 1 ? this.#threads.length - 1 : undefined;
    const candidates = this.#threads.filter(
      (_, number) => number === odd || number % 2 === (work === 'flatten' ? 0 : 1),
    );
    const [least = this.#addThread()] = candidates.toSorted((one, other) => one.waiting - other.waiting);
    return least;
  }

  #addThread(): WorkerThread<ChunkCall, unknown> {
    const thread = new WorkerThread<ChunkCall, unknown>(this.#limits.thread.script ?? ownScript, this.#signal);
    thread.start();
    this.#threads.push(thread);
    return thread;
  }

  /** A chunk on the thread of its caller: what it throws is a rejection, as it is of another thread. */
  #onOwnThread(): ChunkWork {
    const chunk = Promise.resolve(this.#free.pop() ?? import('./chunk.js').then((module) => new module.Chunk()));
    let isThere = true;
    const free = (): void => {
      if (isThere) void chunk.then((of) => this.#free.push(of));
      isThere = false;
    };
    return this.#chunkWork({
      flatten: async (lines, memory) => {
        const flattened = (await chunk).flatten(lines, memory);
        if (flattened.placed !== undefined) free();
        return flattened;
      },
      place: async (before) => {
        const placed = (await chunk).place(before);
        free();
        return placed;
      },
      encode: async (deduped) => {
        this.#encoder ??= import('./chunk.js').then((module) => new module.ChunkEncoder());
        return (await this.#encoder).encode(deduped);
      },
      discard: free,
    });
  }

  /** Keeps a chunk's lines and rows from call to call, and gives out the memory of the lines again once nobody needs them. */
  #chunkWork(on: WorkSteps): ChunkWork {
    let lines: ChunkLines | undefined;
    let rows: ChunkRows | undefined;
    let flattening: Promise<unknown> | undefined;
    const end = (): void => {
      if (lines !== undefined) this.#rooms.push(lines.bytes.buffer);
      if (rows !== undefined) this.#rowsMemory.push(rows.reusable);
      lines = rows = undefined;
    };
    return {
      flatten: async (given) => {
        lines = given;
        const flattened = await (flattening = on.flatten(given, this.#rowsMemory.pop()));
        rows = flattened.placed?.rows;
        return flattened;
      },
      place: async (before) => {
        const placed = await on.place(before);
        rows = placed.rows;
        return placed;
      },
      encode: async (chosen) => {
        if (lines === undefined || rows === undefined) throw new Error('expected a chunk that is placed');
        try {
          return await on.encode({ lines, rows, chosen });
        } finally {
          end();
        }
      },
      discard: () => {
        void Promise.allSettled([flattening]).then(() => {
          if (lines !== undefined) on.discard();
          end();
        });
      },
    };
  }
}

/** What a thread does of a chunk, given what was done before. */
interface WorkSteps extends Omit<ChunkWork, 'flatten' | 'encode'> {
  flatten(lines: ChunkLines, memory: SharedArrayBuffer | undefined): Promise<FlattenedChunk>;
  encode(deduped: DedupedChunk): Promise<readonly EncodedMonth[]>;
}

/** Uses threads for chunks and ends them. Throws what `use` throws. */
export async function withChunkThreads<T>(
  limits: ImportLimits,
  signal: AbortSignal,
  use: (threads: ChunkThreads) => Promise<T>,
): Promise<T> {
  const threads = new ChunkThreads(limits, signal);
  try {
    return await use(threads);
  } finally {
    await threads.close();
  }
}
