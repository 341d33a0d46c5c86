import { eventCollector, type EventsPage } from '../src/sources/finances/api-v0/collectors.js';
import { groupPages } from '../src/sources/finances/api-v0/group-pages.js';
import { groupSlices, spanOfGroup, type GroupSlice } from '../src/sources/finances/api-v0/group-slices.js';
import { answering, groupSource } from '../src/sources/finances/api-v0/sources.js';
import { groupEntries, groupEvents } from '../src/sources/finances/model/tables.js';
import type { FinancesUpstream } from '../src/sources/finances/api-v0/upstream.js';
import type { Pipeline } from '../src/engine/run/pipeline.js';
import { listWork } from '../src/engine/run/work.js';
import { monthOf } from '../src/core/windows.js';
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
