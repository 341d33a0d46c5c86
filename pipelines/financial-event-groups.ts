import { groupCollector } from '../src/sources/finances/api-v0/collectors.js';
import { historyWarnings } from '../src/sources/finances/api-v0/history-limit.js';
import { listingWarnings, listingWork, type ListingSlice } from '../src/sources/finances/api-v0/slicing/listing-slicing';
import type { ScannedPage } from '../src/sources/finances/api-v0/page.js';
import { heldAndRead } from '../src/sources/finances/api-v0/sources.js';
import { groups } from '../src/sources/finances/model/tables.js';
import type { FinancesUpstream } from '../src/sources/finances/api-v0/upstream.js';
import type { Pipeline } from '../src/engine/run/pipeline.js';
import { windowWork } from '../src/engine/run/window-work.js';

const name = 'financial-event-groups';
/** Groups are few: a month of them is one page or two. */
const cutting = { gridDays: 31, probeDays: 31, guessPerDay: 1 };

/** Settlements, listed by the date on which they opened (specification, section 4.1). */
export const financialEventGroups: Pipeline<FinancesUpstream, ListingSlice, ScannedPage> = {
  name,
  about: 'settlements (financial event groups) that opened in the range',
  tables: [groups],
  work: (job) => listingWork(windowWork(job, { pipeline: name, table: groups.name, ...cutting }), job, name),
  pace: (upstream) => upstream.pace('ListFinancialEventGroups'),
  begun: (upstream) => upstream.begun('ListFinancialEventGroups'),
  warnings: (job, now) => ({ ...listingWarnings(job, name), ...historyWarnings(job, name, groups.name, now) }),
  pages: ({ window, held }, reading) =>
    heldAndRead(
      held,
      reading.upstream.pages(
        'ListFinancialEventGroups',
        { FinancialEventGroupStartedAfter: window.start, FinancialEventGroupStartedBefore: window.end },
        reading,
      ),
    ),
  collect: ({ window, held }) => groupCollector(window, held !== undefined),
};
