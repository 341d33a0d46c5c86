import { answerQuestions } from '../../../core/worker-thread.js';
import { ChunkEncoder } from './chunk-encoder.js';
import { ChunkFlattener } from './chunk-flattener.js';
import type { ChunkCall } from './chunk-threads.js';

/** The script of a worker thread of `ChunkThreads`. */
const flattener = new ChunkFlattener();
const encoder = new ChunkEncoder();

answerQuestions(async (request: ChunkCall): Promise<unknown> =>
  request.call === 'encode'
    ? encoder.encode(request.lines, request.rows, request.events)
    : flattener.flatten(request.lines, request.spans, request.memory),
);
