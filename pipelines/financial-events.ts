import { monthOf } from '../src/core/windows.js';
import { windowSlicing } from '../src/engine/slicing/window-slicing.js';
import { eventCollector } from '../src/sources/finances/api-v0/collectors.js';
import { historyWarnings } from '../src/sources/finances/selling-partner/history-limit.js';
import { withSubject } from '../src/sources/finances/model/subject-pages.js';
import { windowSubject } from '../src/sources/finances/model/slice-rows.js';
import { financesPipeline } from '../src/sources/finances/finances-pipeline.js';
import { entries, events } from '../src/sources/finances/api-v0/event-tables.js';

const operation = 'ListFinancialEvents';

/** Events by the date on which they were posted (specification, section 4.2). */
export const financialEvents = financesPipeline({
  name: 'financial-events',
  about: 'financial events that were posted in the range',
  title: 'Events by date (Finances v0)',
  operation,
  main: events,
  derived: [entries],
  slicing: (of) => ({
    ...windowSlicing({ ...of, instants: 'effective_at', gridDays: 7, probeDays: 10, estimateDays: 28 }),
    warnings: (job, now) => historyWarnings(job, of, now),
  }),
  pages: ({ window }, reading) => {
    const posted = { PostedAfter: window.start, PostedBefore: window.end };
    return withSubject(windowSubject(window), reading.upstream.v0.pages({ operation, parameters: posted }, reading));
  },
  collect: ({ window }) => eventCollector({ events, entries }, () => monthOf(window.start)),
});
