import { tableFromIPC } from 'apache-arrow';
import { TableRows } from '../columns/table-rows.js';
import { answerQuestions, type Answered } from '../worker-thread.js';
import { encodeFile } from './encode-file.js';
import type { Job, JobAnswer } from './thread.js';

/** What a `ParquetThread` runs: a file for each job, in their order. */
answerQuestions(async ({ table, metadata, length, stream, parts }: Job): Promise<Answered<JobAnswer>> => {
  const held = parts.map(({ end, lengths }, at) => {
    const [batch] = tableFromIPC(stream.subarray(parts[at - 1]?.end ?? 0, end)).batches;
    if (batch === undefined) throw new Error(`${table.name}: expected a batch, got none`);
    return { batch, lengths };
  });
  const file = await encodeFile(TableRows.fromParts(table, length, held), metadata);
  return { answer: { stream, file }, transfer: [stream.buffer, file.bytes.buffer] };
});
