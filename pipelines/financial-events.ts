import { monthOf } from '../src/core/windows.js';
import type { WindowSlice } from '../src/engine/slicing/window-slices.js';
import { windowProbes, windowSlicing } from '../src/engine/slicing/window-slicing.js';
import { eventCollector, type EventsPage } from '../src/sources/finances/api-v0/collectors.js';
import { historyWarnings } from '../src/sources/finances/selling-partner/history-limit.js';
import { withSource } from '../src/sources/finances/model/source-pages.js';
import { windowSource } from '../src/sources/finances/model/slice-rows.js';
import { eventLimits } from '../src/sources/finances/api-v0/operations.js';
import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';
import { eventDerivation } from '../src/sources/finances/api-v0/event-derivation.js';
import { entries, events } from '../src/sources/finances/api-v0/event-tables.js';

const name = 'financial-events';
const operation = 'ListFinancialEvents';

/** Events by the date on which they were posted (specification, section 4.2). */
export const financialEvents: FinancesPipeline<WindowSlice, EventsPage> = {
  name,
  about: 'financial events that were posted in the range',
  title: 'Events by date (Finances v0)',
  operation,
  burst: eventLimits.burst,
  main: events,
  derived: [entries],
  derivation: eventDerivation,
  ...windowSlicing({ pipeline: name, table: events.name, instants: 'effective_at', gridDays: 7, probeDays: 10 }),
  probes: (job) => windowProbes(financialEvents, job),
  pace: (upstream) => upstream.v0.pace(operation),
  begun: (upstream) => upstream.v0.begun(operation),
  warnings: (job, now) => historyWarnings(job, name, events.name, now),
  pages: ({ window }, reading) => {
    const posted = { PostedAfter: window.start, PostedBefore: window.end };
    return withSource(windowSource(window), reading.upstream.v0.pages({ operation, parameters: posted }, reading));
  },
  collect: ({ window }) => eventCollector({ events, entries }, () => monthOf(window.start)),
};
