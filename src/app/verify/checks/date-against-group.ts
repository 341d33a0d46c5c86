import type { PipelineTables } from '../../../core/columns/table.js';
import type { Database } from '../../../core/duckdb/connection.js';
import { formatCount } from '../../../core/text/amounts.js';
import type { ResultCell } from '../../../core/text/rows.js';
import { joined, type Window } from '../../../core/windows.js';
import { roles } from '../../../../pipelines/all-pipelines.js';
import { datedWindows, isAlone, isSettlementCovered, type Settlement } from '../../settlements/settlements.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import { settlementKey } from '../common/index-tables.js';
import lackingByDate from '../statements/lacking-by-date.sql';
import lackingByGroup from '../statements/lacking-by-group.sql';

const { events } = roles;

export const dateAgainstGroupCheck: CheckDefinition = {
  name: 'date-against-group',
  about: 'the same events were received by date and by group',
  counts: 'groups',
  across: compareByGroup,
};

/**
 * Compares the events read by date with those read by group, as multisets of `content_hash`, for the settlements that
 * lie wholly within windows read by date. An event of a group must be among those by date if its own date was read. A
 * dated event in a group's currency and time must be in that group or another; this is checked only where every group
 * of that time and currency is loaded.
 */
async function compareByGroup(comparison: Comparison): Promise<void> {
  const { loaded, index, database, certificate } = comparison;
  const accounts = new Set(loaded.map(({ account }) => account));
  const windows = new Map([...accounts].map((account) => [account, datedWindows(comparison, events, account)]));
  const compared = loaded.filter((settlement) =>
    isSettlementCovered(settlement, windows.get(settlement.account) ?? []),
  );
  certificate.count(dateAgainstGroupCheck, compared.length);
  if (compared.length === 0) return;

  const all = new Set(loaded);
  await fill(database, compared, (settlement) => isAlone(settlement, comparison, all), windows);
  const byKey = new Map(compared.map((settlement) => [settlementKey(settlement.account, settlement.id), settlement]));
  const add = (row: Readonly<Record<string, ResultCell>>, { main }: PipelineTables, problem: string) => {
    const settlement = byKey.get(settlementKey(String(row['account']), String(row['group_id'])));
    if (settlement === undefined) return;
    const { file } = index.file(row['file']);
    certificate.add(
      dateAgainstGroupCheck,
      'upstream',
      { table: main.name, file, loadKey: settlement.loadKey },
      problem,
    );
  };
  for (const row of await database.rows(lackingByDate)) {
    const lacking = `by date lacks ${formatCount(Number(row['events']), 'event')} that the group has`;
    add(row, events, `${lacking}, such as ${String(row['id'])}; read the dates again with --refresh`);
  }
  for (const row of await database.rows(lackingByGroup)) {
    const lacking = `no group has ${formatCount(Number(row['events']), 'event')} of its time and currency`;
    add(row, roles.bySettlement, `${lacking}, such as ${String(row['id'])}`);
  }
}

async function fill(
  database: Database,
  compared: readonly Settlement[],
  alone: (settlement: Settlement) => boolean,
  windows: ReadonlyMap<string, readonly Window[]>,
): Promise<void> {
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
