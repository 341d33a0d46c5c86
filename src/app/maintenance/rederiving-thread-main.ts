import { answerQuestions } from '../../core/worker-thread.js';
import { derivedTableOf, rederivedEntries, type RederivedEntries, type StoredEventFile } from './rederived-entries.js';

/** The script of a worker thread of `RederivingThreads`, which derives one file at a time. */
answerQuestions((events: StoredEventFile): Promise<RederivedEntries> =>
  rederivedEntries(derivedTableOf(events.pipeline), events),
);
