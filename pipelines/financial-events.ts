import { eventCollector, type EventsPage } from '../src/finances/collectors.js';
import { answering, windowSource } from '../src/finances/sources.js';
import { entries, events } from '../src/finances/tables.js';
import type { FinancesUpstream } from '../src/finances/upstream.js';
import type { Pipeline } from '../src/run/pipeline.js';
import { windowSlices, type WindowSlice } from '../src/run/window-slices.js';
import { monthOf } from '../src/run/windows.js';

const name = 'financial-events';
/** The service refuses windows of more than about two weeks; a week keeps a chain of pages well inside a token's life. */
const days = 7;

/** Events by the date on which they were posted (specification, section 4.2). */
export const financialEvents: Pipeline<FinancesUpstream, WindowSlice, EventsPage> = {
  name,
  about: 'financial events that were posted in the range',
  tables: [entries, events],
  slices: (job) => windowSlices(job, name, events.name, days),
  pages: ({ window }, reading) =>
    answering(
      windowSource(window),
      reading.upstream.pages('ListFinancialEvents', { PostedAfter: window.start, PostedBefore: window.end }, reading),
    ),
  collect: ({ window }) => eventCollector({ events, entries }, () => monthOf(window.start)),
};
