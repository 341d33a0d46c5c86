import { roles } from '../../../../pipelines/all-pipelines.js';
import { formatCount } from '../../../core/text/amounts.js';
import { joined } from '../../../core/windows.js';
import { loadedWindows } from '../../../engine/slicing/window-slices.js';
import { apiWith } from '../../../sources/finances/finances-apis.js';
import { comparedText, comparedWindows } from '../../coverage/api-days.js';
import { datedWindows } from '../../settlements/settlements.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import eventsOfBoth from '../statements/events-of-both.sql';

const { events, transactions } = roles;

export const bothApisCheck: CheckDefinition = {
  name: 'both-apis',
  about: 'where v0 returned events, Finances 2024-06-19 returned transactions',
  counts: 'accounts',
  across: async (comparison) => {
    for (const account of comparison.accounts) await checkBothApis(account, comparison);
  },
};

/** The service returns no transactions at all for some accounts that have events of v0. */
async function checkBothApis(account: string, comparison: Comparison): Promise<void> {
  const { database, certificate } = comparison;
  const [v0, later] = [events, transactions].map(({ name }) => joined(loadedWindows(comparison.lake, name, account)));
  if (v0 === undefined || later === undefined || v0.length === 0 || later.length === 0) return;
  certificate.count(bothApisCheck);
  const location = { table: transactions.main.name, file: '', slice: '', account };
  // The days of a damaged file are loaded: its own problem names the command that mends it.
  const compared = comparedWindows(account, v0, later);
  if (compared !== undefined) certificate.add(bothApisCheck, 'note', location, comparedText(compared));
  const successor = datedWindows(comparison, transactions, account);
  if (successor.length === 0) return;
  const parameters = { account, windows: JSON.stringify(joined(successor)) };
  const [row] = await database.rows(eventsOfBoth, { parameters });
  const found = Number(row?.['events']);
  if (found === 0 || Number(row?.['transactions']) > 0) return;
  const problem =
    `${apiWith(transactions.operation)?.title ?? ''} returned no transaction for days in which v0 has ${formatCount(found, 'event')} of ${account}: ` +
    'continue with --api v0, and ask the API\u2019s support';
  certificate.add(bothApisCheck, 'upstream', location, problem);
}
