import { answerQuestions } from '../../core/worker-thread.js';
import { Chunk, ChunkEncoder } from './chunk.js';
import type { ChunkCall } from './chunk-threads.js';

/** The script of a worker thread of `ChunkThreads`: chunks that wait for `assign-days` or `discard`, by number. */
const chunks = new Map<number, Chunk>();
/** Chunks whose rows are transferred, for further lines. */
const free: Chunk[] = [];
const encoder = new ChunkEncoder();

answerQuestions(async (request: ChunkCall): Promise<unknown> => {
  if (request.call === 'encode') return encoder.encode(request.deduped);
  if (request.call === 'flatten') {
    const chunk = free.pop() ?? new Chunk();
    const flattened = chunk.flatten(request.lines, request.memory);
    if (flattened.assigned === undefined) chunks.set(request.chunk, chunk);
    else free.push(chunk);
    return flattened;
  }
  const chunk = chunks.get(request.chunk);
  if (chunk === undefined) throw new Error(`expected chunk ${request.chunk} to be here, it isn't`);
  chunks.delete(request.chunk);
  free.push(chunk);
  return request.call === 'assign-days' ? chunk.assignDays(request.before) : undefined;
});
