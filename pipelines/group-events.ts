import { monthOf } from '../src/core/windows.js';
import { eventCollector } from '../src/sources/finances/api-v0/collectors.js';
import { groupPages, groupSubject } from '../src/sources/finances/api-v0/event-pages.js';
import { withSubject } from '../src/sources/finances/model/subject-pages.js';
import { groupSlicing } from '../src/sources/finances/api-v0/slicing/group-slicing.js';
import { financesPipeline } from '../src/sources/finances/finances-pipeline.js';
import { settlementVerdict } from '../src/sources/finances/selling-partner/refusals.js';
import { groupEntries, groupEvents } from '../src/sources/finances/api-v0/event-tables.js';
import { financialEventGroups } from './financial-event-groups.js';
import { financialEvents } from './financial-events.js';

const operation = 'ListFinancialEventsByGroupId';

/** Events of each settlement that opened in the range (specification, section 4.3). */
export const groupEventsPipeline = financesPipeline({
  name: 'group-events',
  about: 'financial events of each settlement that opened in the range',
  title: 'Entries of settlements (Finances v0)',
  operation,
  main: groupEvents,
  derived: [groupEntries],
  needs: [financialEventGroups],
  slicing: (of) => groupSlicing({ ...of, listing: financialEventGroups, byDate: financialEvents }),
  judge: settlementVerdict,
  pages: (slice, reading) => withSubject(groupSubject(slice), groupPages(slice, reading)),
  collect: ({ opened }) => eventCollector({ events: groupEvents, entries: groupEntries }, () => monthOf(opened)),
});
