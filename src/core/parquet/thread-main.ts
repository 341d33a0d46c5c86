import { tableFromIPC } from 'apache-arrow';
import { TableRows } from '../columns/table-rows.js';
import { answerQuestions, type Answered } from '../worker-thread.js';
import { encodeFile } from './encode-file.js';
import type { Job, JobAnswer } from './thread.js';

/** What a `ParquetThread` runs: a file for each job, in their order. */
answerQuestions(async ({ table, metadata, stream }: Job): Promise<Answered<JobAnswer>> => {
  const [batch] = tableFromIPC(stream).batches;
  if (batch === undefined) throw new Error(`${table.name}: expected a batch, got none`);
  const file = await encodeFile(TableRows.fromBatch(table, batch), metadata);
  return { answer: { stream, file }, transfer: [stream.buffer, file.bytes.buffer] };
});
