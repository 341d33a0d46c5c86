import { parentPort } from 'node:worker_threads';
import { tableFromIPC } from 'apache-arrow';
import { deltaStatistics } from '../columns/statistics.js';
import { LedgerlakeError, messageOf } from '../errors.js';
import { joinedPieces } from './pieces.js';
import type { Answer, Job } from './thread.js';
import { parquetOfStream, wasmBytes } from './wasm.js';
import type { EncodedFile } from './writer.js';

/** What a `ParquetThread` runs: a file for each job, in their order. */
const port = parentPort;
let before: Promise<void> = Promise.resolve();
/** Where the rows of each job come together: memory that is new takes longer than the copying. */
let room = new Uint8Array(0);
port?.on('message', (job: Job) => {
  before = before.then(async () => {
    try {
      const file = await encoded(job);
      port.postMessage({ id: job.id, file, wasmBytes: wasmBytes() } satisfies Answer, [file.bytes.buffer]);
    } catch (error) {
      const code = error instanceof LedgerlakeError ? error.code : 'ENCODER';
      port.postMessage({ id: job.id, message: messageOf(error), code } satisfies Answer);
    }
  });
});

async function encoded({
  table,
  metadata,
  rows,
  pieces,
}: Job): Promise<EncodedFile & { readonly bytes: Uint8Array<ArrayBuffer> }> {
  const stream = joinedPieces(pieces, room);
  room = new Uint8Array(stream.buffer);
  const bytes = await parquetOfStream(table, stream, rows, metadata);
  const [batch] = tableFromIPC(stream).batches;
  if (batch === undefined) throw new Error(`${table.name}: expected a batch, got none`);
  return { bytes: new Uint8Array(bytes), rows, stats: deltaStatistics(table, batch) };
}
