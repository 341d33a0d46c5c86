import { parentPort } from 'node:worker_threads';
import { tables } from '../../sources/finances/model/tables.js';
import { unchangedEntries } from './rederived-entries.js';
import type { Answer, Question } from './comparison-thread.js';

/** What a `ComparisonThread` runs: an answer for each question. */
const { signal } = new AbortController();
parentPort?.on('message', (question: Question) => {
  void answer(question).then((found) => parentPort?.postMessage(found));
});

async function answer({ table, file, stored }: Question): Promise<Answer> {
  const of = tables.find(({ name }) => name === table);
  // What fails here fails again where the entries are made for good, and is told there.
  return of && unchangedEntries(of, file, stored, signal).catch(() => undefined);
}
