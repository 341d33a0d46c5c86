import { answerQuestions } from '../../core/worker-thread.js';
import { derivedTableOf, rederivedEntries, type RederivedEntries, type StoredEvents } from './rederived-entries.js';

/** What a thread of `RederivingThreads` runs: a file of events after the other. */
answerQuestions((events: StoredEvents): Promise<RederivedEntries> =>
  rederivedEntries(derivedTableOf(events.pipeline), events),
);
