import { groupCollector } from '../src/finances/collectors.js';
import type { ScannedPage } from '../src/finances/page.js';
import { groups } from '../src/finances/tables.js';
import type { FinancesUpstream } from '../src/finances/upstream.js';
import type { Pipeline } from '../src/run/pipeline.js';
import { windowSlices, type WindowSlice } from '../src/run/window-slices.js';

const name = 'financial-event-groups';
/** Groups are few: a month of them is one page or two. */
const days = 31;

/** Settlements, listed by the date on which they opened (specification, section 4.1). */
export const financialEventGroups: Pipeline<FinancesUpstream, WindowSlice, ScannedPage> = {
  name,
  about: 'settlements (financial event groups) that opened in the range',
  tables: [groups],
  slices: (job) => windowSlices(job, name, groups.name, days),
  pages: ({ window }, reading) =>
    reading.upstream.pages(
      'ListFinancialEventGroups',
      { FinancialEventGroupStartedAfter: window.start, FinancialEventGroupStartedBefore: window.end },
      reading,
    ),
  collect: ({ window }) => groupCollector(window),
};
