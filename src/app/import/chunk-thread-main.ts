import { answerQuestions } from '../../core/worker-thread.js';
import { Chunk, ChunkEncoder } from './chunk.js';
import type { ChunkCall } from './chunk-threads.js';

/** The script of a worker thread of `ChunkThreads`. */
const chunk = new Chunk();
const encoder = new ChunkEncoder();

answerQuestions(async (request: ChunkCall): Promise<unknown> =>
  request.call === 'encode'
    ? encoder.encode(request.chunk)
    : chunk.flatten(request.lines, request.spans, request.memory),
);
