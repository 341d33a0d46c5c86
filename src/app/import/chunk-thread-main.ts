import { answerQuestions, type Answered } from '../../core/worker-thread.js';
import { Chunk, ChunkEncoder } from './chunk.js';
import type { ChunkCall } from './chunk-threads.js';

/** What a thread of `ChunkThreads` runs. */
const chunks = new Map<number, Chunk>();
/** Those that are placed. */
const free: Chunk[] = [];
const encoder = new ChunkEncoder();

answerQuestions(async (asked: ChunkCall): Promise<Answered<unknown>> => {
  if (asked.call === 'encode') {
    const months = await encoder.encode(asked.deduped);
    return { answer: months, handedOver: months };
  }
  if (asked.call === 'flatten') {
    const chunk = free.pop() ?? new Chunk();
    const flattened = chunk.flatten(asked.lines);
    if (flattened.placed === undefined) chunks.set(asked.chunk, chunk);
    else free.push(chunk);
    return { answer: flattened, handedOver: flattened.placed };
  }
  const chunk = chunks.get(asked.chunk);
  if (chunk === undefined) throw new Error(`expected chunk ${asked.chunk} to be here, it isn't`);
  chunks.delete(asked.chunk);
  free.push(chunk);
  if (asked.call === 'discard') return { answer: undefined };
  const placed = chunk.place(asked.before);
  return { answer: placed, handedOver: placed };
});
