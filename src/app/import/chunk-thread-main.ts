import { answerQuestions, type Answered } from '../../core/worker-thread.js';
import { Chunk } from './chunk.js';
import type { ChunkCall, EncodedChunk } from './chunk-threads.js';

/** A chunk, and the memory that its lines lie in. */
interface HeldChunk {
  readonly chunk: Chunk;
  readonly room: ArrayBuffer;
}

/** What a thread of `ChunkThreads` runs. */
const chunks = new Map<number, HeldChunk>();

answerQuestions(async (asked: ChunkCall): Promise<Answered<unknown>> => {
  if (asked.call === 'flatten') {
    const chunk = new Chunk();
    chunks.set(asked.chunk, { chunk, room: asked.lines.bytes.buffer });
    return { answer: chunk.flatten(asked.lines), transfer: [] };
  }
  const held = chunks.get(asked.chunk);
  if (asked.call === 'discard') {
    chunks.delete(asked.chunk);
    return { answer: undefined, transfer: [] };
  }
  if (held === undefined) throw new Error(`expected chunk ${asked.chunk} to be here, it isn't`);
  const { chunk, room } = held;
  if (asked.call === 'place') {
    const placed = chunk.place(asked.before);
    return { answer: placed, transfer: [placed.words.buffer, placed.days.buffer] };
  }
  chunks.delete(asked.chunk);
  const months = await chunk.encode(asked.chosen);
  const files = months.flatMap(({ events, entries }) => (entries === undefined ? [events] : [events, entries]));
  const encoded: EncodedChunk = { months, room };
  return { answer: encoded, transfer: [room, ...files.map(({ bytes }) => bytes.buffer)] };
});
