import { parentPort } from 'node:worker_threads';
import { tableFromIPC } from 'apache-arrow';
import { LedgerlakeError, messageOf } from '../errors.js';
import { encodeFile } from './encode-file.js';
import type { Answer, Job, Outcome } from './thread.js';

/** What a `ParquetThread` runs: a file for each job, in their order. */
const port = parentPort;
let before: Promise<void> = Promise.resolve();
port?.on('message', (job: Job) => {
  before = before.then(async () => {
    const { id, stream } = job;
    const outcome = await outcomeOf(job);
    const buffers = [stream.buffer, 'file' in outcome ? outcome.file.bytes.buffer : undefined];
    const transferred = buffers.filter((buffer) => buffer instanceof ArrayBuffer);
    port.postMessage({ id, stream, ...outcome } satisfies Answer, transferred);
  });
});

async function outcomeOf({ table, metadata, stream }: Job): Promise<Outcome> {
  try {
    const [batch] = tableFromIPC(stream).batches;
    if (batch === undefined) throw new Error(`${table.name}: expected a batch, got none`);
    return { file: await encodeFile(table, batch, metadata) };
  } catch (error) {
    return { message: messageOf(error), code: error instanceof LedgerlakeError ? error.code : 'ENCODER' };
  }
}
