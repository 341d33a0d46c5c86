import { answerQuestions, type Answered } from '../../core/worker-thread.js';
import { Chunk, type PlacedChunk } from './chunk.js';
import type { ChunkCall } from './chunk-threads.js';

/** What a thread of `ChunkThreads` runs. */
const chunks = new Map<number, Chunk>();
/** Those that are encoded. */
const free: Chunk[] = [];

answerQuestions(async (asked: ChunkCall): Promise<Answered<unknown>> => {
  if (asked.call === 'flatten') {
    const chunk = free.pop() ?? new Chunk();
    chunks.set(asked.chunk, chunk);
    const flattened = chunk.flatten(asked.lines);
    return { answer: flattened, transfer: flattened.placed === undefined ? [] : buffersOf(flattened.placed) };
  }
  const chunk = chunks.get(asked.chunk);
  if (chunk === undefined) throw new Error(`expected chunk ${asked.chunk} to be here, it isn't`);
  if (asked.call === 'place') {
    const placed = chunk.place(asked.before);
    return { answer: placed, transfer: buffersOf(placed) };
  }
  chunks.delete(asked.chunk);
  free.push(chunk);
  if (asked.call === 'discard') return { answer: undefined, transfer: [] };
  const months = await chunk.encode(asked.chosen);
  const files = months.flatMap(({ events, entries }) => (entries === undefined ? [events] : [events, entries]));
  return { answer: months, transfer: files.map(({ bytes }) => bytes.buffer) };
});

function buffersOf({ words, days }: PlacedChunk): readonly ArrayBuffer[] {
  return [words.buffer, days.buffer];
}
