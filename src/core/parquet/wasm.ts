import { setImmediate } from 'node:timers/promises';
import type { RecordBatch } from 'apache-arrow';
import { arrow } from '../columns/arrow.js';
import { ParquetFile, type RecordBatch as WasmBatch, initSync } from 'parquet-wasm/esm';
import { checkPages } from './page-limits.js';
import { blobOf, type ParquetSource } from './parquet-source.js';
import { wasmModule } from './wasm-module.js';

/** Rejects the steps that wait for parquet-wasm. */
const waiting = new Set<(trap: Error) => void>();

/**
 * Instantiates parquet-wasm by `initialize`. It runs its asynchronous tasks as microtasks: a trap in one of them, as damaged files
 * cause it, would be an uncaught exception, and its step would never end. Here such a trap fails the steps of `orTrap`.
 */
function catchTraps(initialize: () => void): void {
  const { Instance } = WebAssembly;
  // The package offers no other access to the imports of its module. It instantiates the module synchronously.
  WebAssembly.Instance = class extends Instance {
    constructor(module: WebAssembly.Module, imports: WebAssembly.Imports) {
      super(module, withCaughtTraps(imports));
    }
  };
  try {
    initialize();
  } finally {
    WebAssembly.Instance = Instance;
  }
}

/** The step's result. Throws an Error where parquet-wasm ends in a trap meanwhile. */
function orTrap<T>(step: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    waiting.add(reject);
    const end = (): boolean => waiting.delete(reject);
    step.then(resolve, reject).finally(end);
  });
}

function withCaughtTraps(imports: WebAssembly.Imports): WebAssembly.Imports {
  const caught = Object.entries(imports).map(([module, functions]) => [
    module,
    Object.fromEntries(
      Object.entries(functions).map(([name, called]) => [
        name,
        name.startsWith('__wbg_queueMicrotask_') ? caughtIn(called) : called,
      ]),
    ),
  ]);
  return Object.fromEntries(caught) as WebAssembly.Imports;
}

/** One of the two functions takes a task, the other one returns the queue's function of a global object. */
function caughtIn(called: WebAssembly.Import): WebAssembly.Import {
  return (given) => {
    if (typeof given !== 'function') return called(given);
    const task = given as () => void;
    return called(() => {
      try {
        task();
      } catch (cause) {
        if (waiting.size === 0) throw cause;
        const trap = new Error('expected a readable Parquet file, its bytes end parquet-wasm in a trap', { cause });
        for (const reject of waiting) reject(trap);
        waiting.clear();
      }
    });
  };
}

catchTraps(() => {
  initSync({ module: wasmModule() });
});

/** Maximum bytes of a batch of chosen columns whose rows all have the longest value that a dictionary can have. */
const mostRepeatedBytes = 64_000_000;

/**
 * Columns of a Parquet file as batches of about `batchBytes`, so that memory doesn't grow with the file. A batch never
 * spans row groups.
 *
 * @throws Error where the bytes are no Parquet file, lack a column, or have a page that `checkPages` refuses
 */
export async function* parquetBatches(
  source: ParquetSource,
  columns: readonly string[],
  batchBytes: number,
): AsyncGenerator<RecordBatch> {
  const blob = await blobOf(source);
  const { largestDictionary } = await checkPages(blob, columns);
  const mostRows = Math.ceil(mostRepeatedBytes / Math.max(1, largestDictionary));
  const file = await orTrap(ParquetFile.fromFile(blob));
  try {
    for (const [number, group] of file.metadata().rowGroups().entries()) {
      const rows = group.numRows();
      const share = Math.ceil((rows * batchBytes) / Math.max(1, group.totalByteSize()));
      const batchSize = Math.max(1, Math.min(share, mostRows));
      // A stream from the group's start, because an offset makes arrow-rs skip rows, and it can't skip DuckDB's deltas,
      // whose miniblocks have 256 values (apache/arrow-rs#9793, #11018).
      const stream: AsyncIterable<WasmBatch> = await orTrap(
        file.stream({ columns: [...columns], rowGroups: [number], batchSize }),
      );
      for await (const batch of untrapped(stream)) {
        yield* arrow().tableFromIPC(batch.intoIPCStream()).batches;
        // WASM resolves immediately: without a pause no other event, such as a signal, is handled before the file's
        // end.
        await setImmediate();
      }
    }
  } finally {
    file.free();
  }
}

/** What a stream gives. Throws an Error where parquet-wasm ends in a trap, behind which the stream never ends. */
async function* untrapped<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
  const items = stream[Symbol.asyncIterator]();
  let isOpen = false;
  try {
    for (;;) {
      const next = await orTrap(items.next());
      if (next.done === true) return;
      isOpen = true;
      yield next.value;
      isOpen = false;
    }
  } finally {
    if (isOpen) await items.return?.();
  }
}
