import { formatCount } from '../../../core/text/amounts.js';
import { joined } from '../../../core/windows.js';
import { loadedWindows } from '../../../engine/slicing/window-slices.js';
import { apisByDate, comparedDays, comparedText } from '../../coverage/api-days.js';
import { datedWindows } from '../../settlements/settlements.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import eventsInWindows from '../statements/events-in-windows.sql';

export const bothApisCheck: CheckDefinition = {
  name: 'both-apis',
  about: 'where an API returned events, the newer ones returned some too',
  counts: 'accounts',
  across: async (comparison) => {
    for (const account of comparison.accounts) await checkApis(account, comparison);
  },
};

/** The service returns nothing at all by a newer API for some accounts that have events of an older one. */
async function checkApis(account: string, comparison: Comparison): Promise<void> {
  const { lake, database, certificate } = comparison;
  const days = apisByDate
    .map((of) => ({ ...of, loaded: joined(loadedWindows(lake, of.pipeline.name, account)) }))
    .filter(({ loaded }) => loaded.length > 0);
  const newest = days.at(-1);
  if (newest === undefined || days.length < 2) return;
  certificate.count(bothApisCheck);
  // The days of a damaged file are loaded: its own problem names the command that mends it.
  const compared = comparedDays(account, days);
  if (compared !== undefined)
    certificate.add(bothApisCheck, 'note', locationOf(newest.pipeline.main.name), comparedText(compared));
  for (const [at, newer] of days.entries()) {
    const windows = datedWindows(comparison, newer.pipeline, account);
    if (at === 0 || windows.length === 0) continue;
    const parameters = { account, windows: JSON.stringify(joined(windows)) };
    const rows = await database.rows(eventsInWindows, { parameters });
    const found = new Map(rows.map(({ tab, events }) => [String(tab), Number(events)]));
    const older = days.slice(0, at).findLast(({ pipeline }) => found.has(pipeline.main.name));
    if (older === undefined || found.has(newer.pipeline.main.name)) continue;
    const problem =
      `${newer.api.title} returned nothing for days in which ${older.api.name} has ` +
      `${formatCount(found.get(older.pipeline.main.name) ?? 0, 'event')} of ${account}: ` +
      `continue with --api ${older.api.name}, and ask the API\u2019s support`;
    certificate.add(bothApisCheck, 'upstream', locationOf(newer.pipeline.main.name), problem);
  }

  function locationOf(table: string) {
    return { table, file: '', loadKey: '', account };
  }
}
