import { monthOf } from '../src/core/windows.js';
import { windowProbes } from '../src/engine/slicing/window-slicing.js';
import { eventCollector, type EventsPage } from '../src/sources/finances/api-v0/collectors.js';
import { groupPages, groupSource } from '../src/sources/finances/api-v0/event-pages.js';
import { withSource } from '../src/sources/finances/model/source-pages.js';
import type { GroupSlice } from '../src/sources/finances/api-v0/group-slices.js';
import { groupSlicing } from '../src/sources/finances/api-v0/slicing/group-slicing.js';
import { listingProbes } from '../src/sources/finances/api-v0/slicing/listing-slicing.js';
import { eventLimits } from '../src/sources/finances/api-v0/operations.js';
import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';
import { settlementVerdict } from '../src/sources/finances/selling-partner/refusals.js';
import { eventDerivation } from '../src/sources/finances/api-v0/event-derivation.js';
import { groupEntries, groupEvents } from '../src/sources/finances/api-v0/event-tables.js';
import { financialEventGroups } from './financial-event-groups.js';
import { financialEvents } from './financial-events.js';

const name = 'group-events';
const operation = 'ListFinancialEventsByGroupId';

/** Events of each settlement that opened in the range (specification, section 4.3). */
export const groupEventsPipeline: FinancesPipeline<GroupSlice, EventsPage> = {
  name,
  about: 'financial events of each settlement that opened in the range',
  title: 'Entries of settlements (Finances v0)',
  operation,
  burst: eventLimits.burst,
  main: groupEvents,
  derived: [groupEntries],
  derivation: eventDerivation,
  needs: [financialEventGroups],
  ...groupSlicing({ pipeline: name, table: groupEvents.name, listing: financialEventGroups, byDate: financialEvents }),
  // Settlements need no probes themselves: the density of events by date applies to them.
  probes: (job) => [
    ...listingProbes(financialEventGroups, job),
    ...(job.lake.loadKeys(name, job.account).size > 0 ? [] : windowProbes(financialEvents, job)),
  ],
  pace: (upstream) => upstream.v0.pace(operation),
  judge: settlementVerdict,
  pages: (slice, reading) => withSource(groupSource(slice), groupPages(slice, reading)),
  collect: ({ opened }) => eventCollector({ events: groupEvents, entries: groupEntries }, () => monthOf(opened)),
};
