import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Table as ArrowTable } from 'apache-arrow';
import { arrow } from '../columns/arrow.js';
import { messageOf } from '../errors.js';
import { formatBytes } from '../text/amounts.js';
import { limitedWasmModule } from './wasm-module.js';

/** Timeout for a decoder that loops on a damaged file; a checkpoint is read in less time. */
const deadlineMs = 60_000;

/**
 * Maximum memory of the decoder, from the size of the file: a small file may expand to gigabytes. Checkpoints expand to
 * 10 to 30 times their size, and the decoder holds a row group twice.
 */
function mostMemory(bytes: Uint8Array): number {
  return Math.min(256_000_000 + 100 * bytes.length, 2 ** 32);
}

/**
 * The thread's program. A panic of the decoder rejects no promise and leaves its memory in an undefined state, so the
 * thread has its own decoder.
 */
const script = `
const { parentPort, workerData } = require('node:worker_threads');
const { glue, module, bytes } = workerData;
import(glue).then(async ({ initSync, ParquetFile }) => {
  initSync({ module });
  const file = await ParquetFile.fromFile(new Blob([bytes]));
  const streams = [];
  for (const [number] of file.metadata().rowGroups().entries())
    streams.push((await file.read({ rowGroups: [number] })).intoIPCStream());
  parentPort.postMessage({ streams });
}).catch((error) => parentPort.postMessage({ message: String(error?.message ?? error) }));
`;

type Answer = { readonly streams: readonly Uint8Array[] } | { readonly message: string };

/**
 * The row groups of a Parquet file that may be damaged, read on a separate thread with limited memory.
 *
 * @throws Error where the bytes are no Parquet file, also where the decoder panics, hangs or needs more memory
 */
export async function guardedGroups(bytes: Uint8Array): Promise<readonly ArrowTable[]> {
  const limit = mostMemory(bytes);
  const glue = createRequire(import.meta.url).resolve('parquet-wasm/esm/parquet_wasm.js');
  const worker = new Worker(script, {
    eval: true,
    workerData: { glue: pathToFileURL(glue).href, module: limitedWasmModule(limit), bytes },
    // The decoder's message on a panic is in the error.
    stderr: true,
  });
  try {
    const answer = await answerOf(worker, limit);
    if ('message' in answer) throw new Error(answer.message);
    return answer.streams.map((stream) => arrow().tableFromIPC(stream));
  } finally {
    await worker.terminate();
  }
}

function answerOf(worker: Worker, limit: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`the decoder did not finish within ${deadlineMs / 1000} s`));
    }, deadlineMs);
    const fail = (reason: string): void => {
      clearTimeout(timer);
      reject(new Error(`the decoder failed (${reason}), with at most ${formatBytes(limit)} of memory`));
    };
    worker.once('message', (answer: Answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    worker.once('error', (error) => {
      fail(messageOf(error));
    });
    worker.once('exit', (code) => {
      fail(`exit code ${code}`);
    });
  });
}
