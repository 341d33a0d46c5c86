import { answerQuestions, type Answered } from '../../core/worker-thread.js';
import { derivedTableOf, rederivedEntries, type RederivedEntries, type StoredEvents } from './rederived-entries.js';

/** What a thread of `RederivingThreads` runs: a file of events after the other. */
answerQuestions(async (events: StoredEvents): Promise<Answered<RederivedEntries>> => {
  return { answer: await rederivedEntries(derivedTableOf(events.pipeline), events) };
});
