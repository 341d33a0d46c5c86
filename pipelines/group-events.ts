import { eventCollector, type EventsPage } from '../src/finances/collectors.js';
import { groupPages } from '../src/finances/group-pages.js';
import { groupSlices, spanOfGroup, type GroupSlice } from '../src/finances/group-slices.js';
import { answering, groupSource } from '../src/finances/sources.js';
import { groupEntries, groupEvents } from '../src/finances/tables.js';
import type { FinancesUpstream } from '../src/finances/upstream.js';
import type { Pipeline } from '../src/run/pipeline.js';
import { listWork } from '../src/run/work.js';
import { monthOf } from '../src/run/windows.js';
import { financialEventGroups } from './financial-event-groups.js';

const name = 'group-events';

/** Events settlement by settlement, for the settlements that opened in the range (specification, section 4.3). */
export const groupEventsPipeline: Pipeline<FinancesUpstream, GroupSlice, EventsPage> = {
  name,
  about: 'financial events of each settlement that opened in the range',
  tables: [groupEntries, groupEvents],
  needs: [financialEventGroups],
  work: (job) => listWork(groupSlices(job, name, groupEvents.name, financialEventGroups.name), 'group', spanOfGroup),
  pace: (upstream) => upstream.pace('ListFinancialEventsByGroupId'),
  pages: (slice, reading) => answering(groupSource(slice), groupPages(slice, reading)),
  collect: ({ opened }) => eventCollector({ events: groupEvents, entries: groupEntries }, () => monthOf(opened)),
};
