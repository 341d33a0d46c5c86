import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Table as ArrowTable } from 'apache-arrow';
import { arrow } from '../columns/arrow.js';
import { messageOf } from '../errors.js';
import { wasmModule } from './wasm-module.js';

/** A file of so few bytes as a checkpoint is read in less; a decoder that a damaged file sends in circles is stopped. */
const deadlineMs = 60_000;

/**
 * What the thread runs. A panic of the decoder happens outside of every promise and leaves its memory in an unknown state, so the
 * decoder is one that nobody else uses.
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
 * The row groups of a Parquet file that may be damaged, read on a thread of its own.
 *
 * @throws Error where the bytes are no Parquet file, whatever the decoder does about it
 */
export async function guardedGroups(bytes: Uint8Array): Promise<readonly ArrowTable[]> {
  const glue = createRequire(import.meta.url).resolve('parquet-wasm/esm/parquet_wasm.js');
  const worker = new Worker(script, {
    eval: true,
    workerData: { glue: pathToFileURL(glue).href, module: wasmModule(), bytes },
    // What the decoder prints of a panic is in the error.
    stderr: true,
  });
  try {
    const answer = await answerOf(worker);
    if ('message' in answer) throw new Error(answer.message);
    return answer.streams.map((stream) => arrow().tableFromIPC(stream));
  } finally {
    await worker.terminate();
  }
}

function answerOf(worker: Worker): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`the decoder did not finish within ${deadlineMs / 1000} s`));
    }, deadlineMs);
    const fail = (reason: string): void => {
      clearTimeout(timer);
      reject(new Error(`the decoder failed (${reason})`));
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
