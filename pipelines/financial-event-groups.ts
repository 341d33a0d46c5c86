import { groupCollector } from '../src/sources/finances/api-v0/collectors.js';
import { listingSlicing } from '../src/sources/finances/api-v0/slicing/listing-slicing.js';
import { storedThenRead } from '../src/sources/finances/api-v0/event-pages.js';
import { groups } from '../src/sources/finances/api-v0/event-tables.js';
import { financesPipeline } from '../src/sources/finances/finances-pipeline.js';

const operation = 'ListFinancialEventGroups';

/** Settlements by the date on which they opened (specification, section 4.1). */
export const financialEventGroups = financesPipeline({
  name: 'financial-event-groups',
  about: 'settlements (financial event groups) that opened in the range',
  title: 'List of settlements (Finances v0)',
  operation,
  main: groups,
  derived: [],
  // There are few groups: those of a month fit one page or two.
  slicing: (of) => listingSlicing({ ...of, gridDays: 31, probeDays: 31, guessPerDay: 1 }),
  pages: ({ window: { start, end }, stored }, reading) => {
    const opened = { FinancialEventGroupStartedAfter: start, FinancialEventGroupStartedBefore: end };
    return storedThenRead(stored, reading.upstream.v0.pages({ operation, parameters: opened }, reading));
  },
  collect: ({ window, stored }) => groupCollector(window, stored !== undefined),
});
