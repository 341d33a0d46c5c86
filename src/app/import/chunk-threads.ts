import { WorkerThread } from '../../core/worker-thread.js';
import { defaultLimits, type Limits } from '../../lake/files/workspace.js';
import type { Chunk, ChosenEvents, ChunkLines, EncodedMonth, FlattenedChunk, PlacedChunk } from './chunk.js';

/** What an import may hold in memory. */
export interface ImportLimits extends Limits {
  /** Bytes of pages that are flattened at once. */
  readonly chunkBytes: number;
}

/** A part is about 5,000 events with ten amounts each; what is made of it takes several times its bytes for a moment. */
export const importLimits: ImportLimits = {
  ...defaultLimits,
  memory: '256MB',
  chunkBytes: 7_000_000,
};

/** A call of a chunk's, by its number. */
export type ChunkCall = { readonly chunk: number } & (
  | { readonly call: 'flatten'; readonly lines: ChunkLines }
  | { readonly call: 'place'; readonly before: bigint | undefined }
  | { readonly call: 'encode'; readonly chosen: ChosenEvents }
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

/** Chunks that a thread has at once: it works on one while the other is waited for, or handed over. */
const mostOfThread = 2;

/** Chunks on their caller's thread as long as the input is small, and on threads of their own from then on. */
export class ChunkThreads {
  readonly #limits: ImportLimits;
  readonly #signal: AbortSignal;
  readonly #threads: { readonly thread: WorkerThread<ChunkCall, unknown>; chunks: number }[] = [];
  /** Chunks of all inputs that aren't encoded, or held, yet. */
  readonly #underWay = new Set<Promise<void>>();
  /** Memory of lines that are flattened. */
  readonly #rooms: SharedArrayBuffer[] = [];
  /** Chunks of this thread that are encoded. */
  readonly #free: Chunk[] = [];
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

  /** The next chunk, on the thread that has the fewest. */
  begin(): ChunkWork {
    return this.#isThreaded ? this.#threaded() : this.#onOwnThread();
  }

  /** Gives out the memory of lines again once they are flattened. */
  #takeBack({ bytes }: ChunkLines, flattened: Promise<unknown>): void {
    const free = (): void => {
      this.#rooms.push(bytes.buffer);
    };
    flattened.then(free, free);
  }

  get #mostThreads(): number {
    return this.#limits.thread.threads ?? 2;
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(({ thread }) => thread.close()));
  }

  #threaded(): ChunkWork {
    const chunk = this.#begun++;
    const [least = this.#addThread()] = this.#threads.toSorted((one, other) => one.chunks - other.chunks);
    const on = least.chunks > 0 && this.#threads.length < this.#mostThreads ? this.#addThread() : least;
    on.chunks++;
    const ended = once(() => {
      on.chunks--;
    });
    const ask = on.thread.ask.bind(on.thread);
    return {
      flatten: (lines) => {
        const flattened = ask({ chunk, call: 'flatten', lines }) as Promise<FlattenedChunk>;
        this.#takeBack(lines, flattened);
        return flattened;
      },
      place: (before) => ask({ chunk, call: 'place', before }) as Promise<PlacedChunk>,
      encode: (chosen) => {
        const encoded = ask({ chunk, call: 'encode', chosen }) as Promise<readonly EncodedMonth[]>;
        encoded.then(ended, ended);
        return encoded;
      },
      discard: () => {
        ask({ chunk, call: 'discard' }).then(ended, ended);
      },
    };
  }

  #addThread() {
    const added = {
      thread: new WorkerThread<ChunkCall, unknown>(this.#limits.thread.script ?? ownScript, this.#signal),
      chunks: 0,
    };
    added.thread.start();
    this.#threads.push(added);
    return added;
  }

  /** A chunk on the thread of its caller: what it throws is a rejection, as it is of another thread. */
  #onOwnThread(): ChunkWork {
    const chunk = Promise.resolve(this.#free.pop() ?? import('./chunk.js').then((module) => new module.Chunk()));
    const ended = once(() => {
      void chunk.then((of) => this.#free.push(of));
    });
    return {
      flatten: (lines) => {
        const flattened = chunk.then((of) => of.flatten(lines));
        this.#takeBack(lines, flattened);
        return flattened;
      },
      place: async (before) => (await chunk).place(before),
      encode: async (chosen) => {
        try {
          return await (await chunk).encode(chosen);
        } finally {
          ended();
        }
      },
      discard: ended,
    };
  }
}

/** A chunk whose encoding fails is discarded too. */
function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
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
