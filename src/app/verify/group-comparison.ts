import type { Database } from '../../core/duckdb/connection.js';
import { literal } from '../../core/duckdb/literals.js';
import { formatCount } from '../../core/text/amounts.js';
import type { Cell } from '../../core/text/rows.js';
import { joined, type Window } from '../../core/windows.js';
import type { Certificate } from './certificate.js';
import { byDate, byGroup } from './main-tables.js';
import { groupKey, type IndexTables } from './index-tables.js';
import { datedWindows, isAlone, isCovered, type Comparable, type Settlement } from './settlements.js';

/**
 * Compares what came by date with what came by group, as multisets of `content_hash`, for the settlements that lie wholly
 * within windows read by date. An event of a group must have come by date as well, if its own date was read. A dated
 * event in a group's currency and time must have come by group, in that group or another: only where every group of
 * that time and currency is loaded.
 */
export async function compareByGroup(
  loaded: readonly Settlement[],
  comparable: Comparable,
  index: IndexTables,
  certificate: Certificate,
  signal: AbortSignal,
): Promise<void> {
  const windows = new Map<string, readonly Window[]>();
  for (const { account } of loaded) windows.set(account, windows.get(account) ?? datedWindows(comparable, account));
  const compared = loaded.filter((settlement) => isCovered(settlement, windows.get(settlement.account) ?? []));
  certificate.count('date-against-group', compared.length);
  if (compared.length === 0) return;

  const all = new Set(loaded);
  const { database } = index;
  await fill(database, compared, (settlement) => isAlone(settlement, comparable, all), windows);
  const byKey = new Map(compared.map((settlement) => [groupKey(settlement.account, settlement.id), settlement]));
  const settlementOf = (row: Readonly<Record<string, Cell>>) =>
    byKey.get(groupKey(String(row['account']), String(row['group_id'])));

  for (const row of await database.rows(lackingByDate, { signal })) {
    const settlement = settlementOf(row);
    if (settlement === undefined) continue;
    const place = { table: byDate.table, file: index.file(Number(row['file']))?.file ?? '', slice: settlement.slice };
    const text = `by date lacks ${formatCount(Number(row['events']), 'event')} that the group has, such as ${String(row['id'])}`;
    certificate.add('date-against-group', 'upstream', place, `${text}; read the dates again with --refresh`);
  }
  for (const row of await database.rows(lackingByGroup, { signal })) {
    const settlement = settlementOf(row);
    if (settlement === undefined) continue;
    const place = { table: byGroup.table, file: index.file(Number(row['file']))?.file ?? '', slice: settlement.slice };
    const text = `no group has ${formatCount(Number(row['events']), 'event')} of its time and currency, such as ${String(row['id'])}`;
    certificate.add('date-against-group', 'upstream', place, text);
  }
}

async function fill(
  database: Database,
  compared: readonly Settlement[],
  alone: (settlement: Settlement) => boolean,
  windows: ReadonlyMap<string, readonly Window[]>,
): Promise<void> {
  await database.execute(
    'CREATE TABLE compared (account VARCHAR, group_id VARCHAR, currency VARCHAR, starts BIGINT, ends BIGINT, alone BOOLEAN)',
  );
  await database.execute('CREATE TABLE covered (account VARCHAR, starts BIGINT, ends BIGINT)');
  for (const settlement of compared) {
    const { account, id, currency, start, end } = settlement;
    await database.execute('INSERT INTO compared VALUES ($1, $2, $3, $4, $5, $6)', {
      parameters: [account, id, currency, BigInt(start ?? 0), BigInt(end ?? 0), alone(settlement)],
    });
  }
  for (const [account, ranges] of windows) {
    for (const { start, end } of joined(ranges)) {
      await database.execute('INSERT INTO covered VALUES ($1, $2, $3)', {
        parameters: [account, BigInt(start), BigInt(end)],
      });
    }
  }
}

const dates = literal(byDate.table);
const grouped = literal(byGroup.table);

const lackingByDate =
  'WITH wanted AS (SELECT account, content, count(*) AS times, min(group_id) AS group_id, min(file) AS file, min(id) AS id ' +
  `FROM seen SEMI JOIN compared USING (account, group_id) WHERE tab = ${grouped} AND (NOT dated OR EXISTS (` +
  'SELECT 1 FROM covered WHERE covered.account = seen.account AND seen.instant >= covered.starts AND seen.instant < covered.ends)) ' +
  'GROUP BY account, content), ' +
  `held AS (SELECT account, content, count(*) AS times FROM seen WHERE tab = ${dates} GROUP BY account, content) ` +
  'SELECT account, group_id, min(file) AS file, min(id) AS id, sum(wanted.times - coalesce(held.times, 0)) AS events ' +
  'FROM wanted LEFT JOIN held USING (account, content) WHERE wanted.times > coalesce(held.times, 0) ' +
  'GROUP BY account, group_id ORDER BY account, group_id';

const lackingByGroup =
  'WITH wanted AS (SELECT account, content, currency, instant, count(*) AS times, min(file) AS file, min(id) AS id ' +
  `FROM seen WHERE tab = ${dates} AND dated AND inside GROUP BY account, content, currency, instant), ` +
  `held AS (SELECT account, content, count(*) AS times FROM seen WHERE tab = ${grouped} GROUP BY account, content), ` +
  'lacking AS (SELECT wanted.*, wanted.times - coalesce(held.times, 0) AS more ' +
  'FROM wanted LEFT JOIN held USING (account, content) WHERE wanted.times > coalesce(held.times, 0)) ' +
  'SELECT c.account, c.group_id, min(l.file) AS file, min(l.id) AS id, sum(l.more) AS events FROM lacking AS l ' +
  'JOIN compared AS c ON c.account = l.account AND c.currency = l.currency AND l.instant >= c.starts AND l.instant < c.ends ' +
  'WHERE c.alone GROUP BY c.account, c.group_id ORDER BY c.account, c.group_id';
