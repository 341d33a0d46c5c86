import { answerQuestions } from '../../core/worker-thread.js';
import { Chunk, ChunkEncoder } from './chunk.js';
import type { ChunkCall } from './chunk-threads.js';

/** What a thread of `ChunkThreads` runs. */
const chunks = new Map<number, Chunk>();
/** Chunks whose rows were handed on, for the next lines. */
const free: Chunk[] = [];
const encoder = new ChunkEncoder();

answerQuestions(async (asked: ChunkCall): Promise<unknown> => {
  if (asked.call === 'encode') return encoder.encode(asked.deduped);
  if (asked.call === 'flatten') {
    const chunk = free.pop() ?? new Chunk();
    const flattened = chunk.flatten(asked.lines, asked.memory);
    if (flattened.assigned === undefined) chunks.set(asked.chunk, chunk);
    else free.push(chunk);
    return flattened;
  }
  const chunk = chunks.get(asked.chunk);
  if (chunk === undefined) throw new Error(`expected chunk ${asked.chunk} to be here, it isn't`);
  chunks.delete(asked.chunk);
  free.push(chunk);
  return asked.call === 'assign-days' ? chunk.assignDays(asked.before) : undefined;
});
