import type { Table } from '../../core/columns/table.js';
import type { Database } from '../../core/duckdb/connection.js';
import { readParquet } from '../../core/duckdb/literals.js';
import type { Add } from '../../lake/delta/actions.js';
import type { Lake } from '../../lake/lake.js';
import { mainFiles } from '../../lake/upkeep/erasure.js';
import type { Aging, AgingRule } from './retention.js';
import type { GroupSpan } from '../../sources/finances/api-v0/collectors.js';
import { eventHistory, events, groupEvents, groups, orderEvents } from '../../sources/finances/model/tables.js';

/**
 * How an account's rows grow old. Events, with their entries, count by `effective_at`, groups by their end: one that is
 * open stays, and so does an order's event where the order has no date at all.
 *
 * Windows count as read for good, so that nothing asks for the forgotten rows again. A group's events count as read as
 * long as the group is listed or some of them are there, an order while it has rows: of one whose rows all went not
 * even its number stays.
 *
 * @param before milliseconds since 1970
 */
export function financialAging(lake: Lake, account: string, before: number): Aging {
  const spans = mainFiles(lake.table(groups.name), account).flatMap(({ add }) => spansOf(add));
  const listed = new Set(spans.filter((span) => staysListed(span, before)).map(({ id }) => `group/${id}`));
  const rules: [string, AgingRule][] = [
    [groups.name, { column: 'ended_at', unit: undefined, tags: (_, old) => Promise.resolve(groupTags(old, before)) }],
    [events.name, { column: 'effective_at', unit: undefined, tags: netTags }],
    [groupEvents.name, { column: 'effective_at', unit: "'group/' || group_id", tags: netTags }],
    [orderEvents.name, { column: 'effective_at', unit: "'order/' || requested_order_id", tags: netTags }],
    [eventHistory.name, { column: 'effective_at', unit: undefined, tags: () => Promise.resolve({}) }],
    ...lake.tables.flatMap(({ schema }) => ownRule(schema)),
  ];
  return {
    before,
    rules: new Map(rules),
    outlives: (unit, hadRows) => (unit.startsWith('group/') ? listed.has(unit) : !hadRows),
  };
}

/** A table of the user's own grows old window by window: one that reaches beyond the instant stays whole. */
function ownRule({ name, ownPipeline }: Table): [string, AgingRule][] {
  if (ownPipeline === undefined) return [];
  return [
    [name, { column: "window_end - INTERVAL '1 microsecond'", unit: undefined, tags: () => Promise.resolve({}) }],
  ];
}

function staysListed({ end }: GroupSpan, before: number): boolean {
  return end === null || end >= before;
}

/** The groups that a file of `groups` lists; its tag is what the collector put there. */
function spansOf({ tags }: Add): GroupSpan[] {
  return JSON.parse(tags?.['groups'] ?? '[]') as GroupSpan[];
}

function groupTags(old: Add, before: number): Record<string, string> {
  return { groups: JSON.stringify(spansOf(old).filter((span) => staysListed(span, before))) };
}

/** Net sum per currency of entries, as the collector writes it. */
async function netTags(
  database: Database,
  _old: Add,
  entries: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  if (entries.length === 0) return { net: '{}' };
  const sums = await database.rows(
    `SELECT coalesce(currency, '') AS code, CAST(sum(amount) AS DECIMAL(38,6)) AS net FROM ${readParquet(entries)} ` +
      `WHERE role = 'net' AND amount IS NOT NULL GROUP BY code ORDER BY code`,
  );
  return { net: JSON.stringify(Object.fromEntries(sums.map(({ code, net }) => [String(code), String(net)]))) };
}
