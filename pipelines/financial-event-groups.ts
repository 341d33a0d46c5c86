import { groupCollector } from '../src/finances/collectors.js';
import type { ScannedPage } from '../src/finances/page.js';
import { groups } from '../src/finances/tables.js';
import type { FinancesUpstream } from '../src/finances/upstream.js';
import type { Pipeline } from '../src/run/pipeline.js';
import type { WindowSlice } from '../src/run/window-slices.js';
import { windowWork } from '../src/run/window-work.js';

const name = 'financial-event-groups';
/** Groups are few: a month of them is one page or two. */
const cutting = { gridDays: 31, probeDays: 31, guessPerDay: 1 };

/** Settlements, listed by the date on which they opened (specification, section 4.1). */
export const financialEventGroups: Pipeline<FinancesUpstream, WindowSlice, ScannedPage> = {
  name,
  about: 'settlements (financial event groups) that opened in the range',
  tables: [groups],
  work: (job) => windowWork(job, { pipeline: name, table: groups.name, ...cutting }),
  pace: (upstream) => upstream.pace('ListFinancialEventGroups'),
  begun: (upstream) => upstream.begun('ListFinancialEventGroups'),
  pages: ({ window }, reading) =>
    reading.upstream.pages(
      'ListFinancialEventGroups',
      { FinancialEventGroupStartedAfter: window.start, FinancialEventGroupStartedBefore: window.end },
      reading,
    ),
  collect: ({ window }) => groupCollector(window),
};
