import type { Table } from '../../core/columns/table.js';
import type { Database } from '../../core/duckdb/connection.js';
import { identifier } from '../../core/duckdb/literals.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import { mostExamples, type ChangeExample, type KnownOrders } from './findings.js';

/** Two states of the same units, each as a query with the columns of the main table and `month_`. */
export interface States {
  readonly main: Table;
  /** As the lake holds them. */
  readonly stored: string;
  /** As they were read now. */
  readonly incoming: string;
  /** In SQL: whether a row lies in what was read before, so that it is news that it is there. */
  readonly isKnown: string;
}

/** The orders that the lake holds, and those of them that came back; of a table without orders there are none. */
export async function findKnownOrders(
  database: Database,
  { main, stored, incoming }: Pick<States, 'main' | 'stored' | 'incoming'>,
): Promise<KnownOrders> {
  if (!hasColumn(main, 'amazon_order_id')) return { stored: 0, returned: 0 };
  // A transaction keeps its id, whatever becomes of its status; an event that is the same is known by its own.
  const ids = ['amazon_order_id', 'event_id', 'transaction_id'].filter((name) => hasColumn(main, name));
  const isKnown = ids.map((id) => `${id} IN (SELECT ${id} FROM (${incoming}) WHERE ${id} IS NOT NULL)`).join(' OR ');
  const [orders] = await database.rows(
    'SELECT count(DISTINCT amazon_order_id) AS held, ' +
      `count(DISTINCT amazon_order_id) FILTER (${isKnown}) AS returned FROM (${stored}) WHERE amazon_order_id IS NOT NULL`,
  );
  return { stored: Number(orders?.['held']), returned: Number(orders?.['returned']) };
}

/** What differs, found and kept in the database: tables `vanished_` and `appeared_`, each with the rows of its name. */
export interface Differing {
  readonly vanished: number;
  readonly appeared: number;
  readonly differ: number;
  /** Rows that the examples are the first of: of events both of a pair. */
  readonly rows: number;
  readonly examples: readonly ChangeExample[];
}

/** A group is known by its id, one without by what was received: never null. Earlier versions have an empty id there. */
const groupKey = "coalesce(nullif(group_id, ''), raw)";

/** In SQL: the identity of a row; undefined for a table of whose rows nothing is known. */
export function rowKey(main: Table): string | undefined {
  if (hasColumn(main, 'event_id')) return 'event_id';
  return hasColumn(main, 'group_id') && hasColumn(main, 'raw') ? groupKey : undefined;
}

/**
 * Finds what differs. Identical events of a slice have ids of their own (`-2`, `-3` …), so that ids compare with their
 * multiplicity: where one of three has gone it is the third.
 */
export async function findDiffering(database: Database, states: States): Promise<Differing> {
  const { main, stored, incoming, isKnown } = states;
  const key = rowKey(main) ?? 'event_id';
  await database.execute(
    `CREATE OR REPLACE TEMP TABLE vanished_ AS SELECT * FROM (${stored}) WHERE ${key} NOT IN (SELECT ${key} FROM (${incoming}))`,
  );
  await database.execute(
    `CREATE OR REPLACE TEMP TABLE appeared_ AS SELECT * FROM (${incoming}) ` +
      `WHERE ${key} NOT IN (SELECT ${key} FROM (${stored})) AND (${isKnown})`,
  );
  const [counts] = await database.rows(
    'SELECT (SELECT count(*) FROM vanished_) AS vanished, (SELECT count(*) FROM appeared_) AS appeared',
  );
  const vanished = Number(counts?.['vanished']);
  const appeared = Number(counts?.['appeared']);
  const counted = { vanished, appeared, rows: vanished + appeared };
  if (key === 'event_id') return { ...counted, ...(await pairsOfEvents(database, main)) };
  const groups = await changedGroups(database, states);
  return { ...counted, ...groups, rows: counted.rows + groups.differ };
}

const allChanges =
  "SELECT 'vanished' AS change, * FROM vanished_ UNION ALL BY NAME SELECT 'appeared' AS change, * FROM appeared_";

/** A transaction that changed keeps its id; an event has none, but an order and a list. */
async function pairsOfEvents(database: Database, main: Table): Promise<Pick<Differing, 'differ' | 'examples'>> {
  const isTransaction = hasColumn(main, 'transaction_id');
  const subject = isTransaction ? 'transaction_id' : 'amazon_order_id';
  const list = isTransaction ? 'transaction_type' : 'event_list';
  const [pairs] = await database.rows(
    'SELECT coalesce(sum(least(came, went)), 0)::BIGINT AS pairs FROM (' +
      "SELECT count(*) FILTER (change = 'appeared') AS came, count(*) FILTER (change = 'vanished') AS went " +
      `FROM (${allChanges}) WHERE ${subject} IS NOT NULL GROUP BY ${subject}, ${list})`,
  );
  const examples = await database.rows(
    `SELECT change, event_id AS id, ${list} AS event_list, amazon_order_id, posted_at FROM (${allChanges}) ` +
      `ORDER BY effective_at NULLS LAST, id, change LIMIT ${mostExamples}`,
  );
  return { differ: Number(pairs?.['pairs']), examples: examples.map(exampleOf) };
}

async function changedGroups(
  database: Database,
  { stored, incoming }: States,
): Promise<Pick<Differing, 'differ' | 'examples'>> {
  const others = `SELECT now.* FROM (${incoming}) AS now JOIN (${stored}) AS was USING (group_id) WHERE now.raw <> was.raw`;
  const [count] = await database.rows(`SELECT count(*) AS groups FROM (${others})`);
  const examples = await database.rows(
    `SELECT change, coalesce(group_id, '') AS id, NULL AS event_list, NULL AS amazon_order_id, started_at AS posted_at ` +
      `FROM (${allChanges} UNION ALL BY NAME SELECT 'differs' AS change, * FROM (${others})) ` +
      `ORDER BY started_at NULLS LAST, id LIMIT ${mostExamples}`,
  );
  return { differ: Number(count?.['groups']), examples: examples.map(exampleOf) };
}

function exampleOf(row: Readonly<Record<string, unknown>>): ChangeExample {
  const text = (name: string) => (typeof row[name] === 'string' ? row[name] : null);
  const change = text('change');
  return {
    change: change === 'vanished' || change === 'differs' ? change : 'appeared',
    id: text('id') ?? '',
    eventList: text('event_list'),
    amazonOrderId: text('amazon_order_id'),
    postedAt: text('posted_at'),
  };
}

/** What rows are received for: a window, a settlement or an order. */
const sources = ['window_start', 'group_id', 'requested_order_id'];

/**
 * Whether two queries give the same rows of a table, in whatever order. Where the id is made of `raw`, that isn't compared, and
 * rows may have changed their positions with one another: an API that promises no order may answer in another one each time.
 */
export async function sameRows(database: Database, table: Table, a: string, b: string): Promise<boolean> {
  const isHashed = hasColumn(table, 'content_hash');
  const names = table.columns.map(({ name }) => name);
  const compared = names.filter((name) => !(isHashed && (name === 'raw' || name === 'position')));
  const isSame = async (columns: readonly string[]): Promise<boolean> => {
    const list = [...columns.map(identifier), 'month_'].join(', ');
    const [x, y] = [a, b].map((select) => `SELECT ${list} FROM (${select})`);
    const [row] = await database.rows(
      `SELECT (SELECT count(*) FROM (${x ?? ''} EXCEPT ALL ${y ?? ''})) + ` +
        `(SELECT count(*) FROM (${y ?? ''} EXCEPT ALL ${x ?? ''})) AS odd`,
    );
    return row?.['odd'] === 0n;
  };
  if (!(await isSame(compared))) return false;
  const positionColumns = names.filter((name) => name === 'position' || sources.includes(name));
  return !isHashed || !positionColumns.includes('position') || isSame(positionColumns);
}
