import { eventCollector, type EventsPage } from '../src/sources/finances/api-v0/collectors.js';
import { historyWarnings } from '../src/sources/finances/api-v0/history-limit.js';
import { answering, windowSource } from '../src/sources/finances/api-v0/sources.js';
import { entries, events } from '../src/sources/finances/model/tables.js';
import type { FinancesUpstream } from '../src/sources/finances/api-v0/upstream.js';
import type { Pipeline } from '../src/engine/run/pipeline.js';
import type { WindowSlice } from '../src/engine/run/window-slices.js';
import { windowWork } from '../src/engine/run/window-work.js';
import { monthOf } from '../src/core/windows.js';

const name = 'financial-events';
const cutting = { gridDays: 7, probeDays: 10 };

/** Events by the date on which they were posted (specification, section 4.2). */
export const financialEvents: Pipeline<FinancesUpstream, WindowSlice, EventsPage> = {
  name,
  about: 'financial events that were posted in the range',
  tables: [entries, events],
  work: (job) => windowWork(job, { pipeline: name, table: events.name, ...cutting }),
  pace: (upstream) => upstream.pace('ListFinancialEvents'),
  begun: (upstream) => upstream.begun('ListFinancialEvents'),
  warnings: (job, now) => historyWarnings(job, name, events.name, now),
  pages: ({ window }, reading) =>
    answering(
      windowSource(window),
      reading.upstream.pages('ListFinancialEvents', { PostedAfter: window.start, PostedBefore: window.end }, reading),
    ),
  collect: ({ window }) => eventCollector({ events, entries }, () => monthOf(window.start)),
};
