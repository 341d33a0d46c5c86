import { groupCollector } from '../src/sources/finances/api-v0/collectors.js';
import { historyWarnings } from '../src/sources/finances/selling-partner/history-limit.js';
import type { ScannedPage } from '../src/sources/finances/api-v0/finances-page.js';
import {
  listingWarnings,
  listingProbes,
  listingSlicing,
  type ListingSlice,
} from '../src/sources/finances/api-v0/slicing/listing-slicing.js';
import { storedThenRead } from '../src/sources/finances/api-v0/event-pages.js';
import { groups } from '../src/sources/finances/api-v0/event-tables.js';
import { eventLimits } from '../src/sources/finances/api-v0/operations.js';
import type { FinancesPipeline } from '../src/sources/finances/connect-finances.js';

const name = 'financial-event-groups';
const operation = 'ListFinancialEventGroups';

/** Settlements by the date on which they opened (specification, section 4.1). */
export const financialEventGroups: FinancesPipeline<ListingSlice, ScannedPage> = {
  name,
  about: 'settlements (financial event groups) that opened in the range',
  title: 'List of settlements (Finances v0)',
  operation,
  burst: eventLimits.burst,
  main: groups,
  derived: [],
  // There are few groups: those of a month fit one page or two.
  ...listingSlicing({ pipeline: name, table: groups.name, gridDays: 31, probeDays: 31, guessPerDay: 1 }),
  probes: (job) => listingProbes(financialEventGroups, job),
  pace: (upstream) => upstream.v0.pace(operation),
  begun: (upstream) => upstream.v0.begun(operation),
  warnings: (job, now) => ({ ...listingWarnings(job, name), ...historyWarnings(job, name, groups.name, now) }),
  pages: ({ window: { start, end }, stored }, reading) => {
    const opened = { FinancialEventGroupStartedAfter: start, FinancialEventGroupStartedBefore: end };
    return storedThenRead(stored, reading.upstream.v0.pages({ operation, parameters: opened }, reading));
  },
  collect: ({ window, stored }) => groupCollector(window, stored !== undefined),
};
