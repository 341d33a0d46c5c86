import { hasEvents, type Table } from '../../core/columns/table.js';
import type { Database } from '../../core/duckdb/connection.js';
import { identifier } from '../../core/duckdb/literals.js';
import { historyValue } from './event-history.js';
import { mostExamples } from './findings.js';
import type { ChangeExample } from '../results.js';

/** Two states of the same load keys, each as a query with the columns of the table and `month_`. */
export interface States {
  readonly table: Table;
  /** The rows in the lake. */
  readonly stored: string;
  /** The rows that were read now. */
  readonly incoming: string;
}

/** The states of a main table. */
interface MainStates extends States {
  /** In SQL: whether a row lies in what was read before, so that a new row is a change; undefined: all rows do. */
  readonly isKnown: string | undefined;
  /** Whether new rows are expected. */
  readonly grows: boolean;
}

/** How many rows and orders the lake has; no orders of a table without. */
export async function countStored(
  database: Database,
  { table: main, stored }: States,
): Promise<{ readonly rows: number; readonly orders: number }> {
  const orders = hasEvents(main) ? 'count(DISTINCT amazon_order_id)' : '0';
  const [counted] = await database.rows(`SELECT count(*) AS rows, ${orders} AS orders FROM (${stored})`);
  return { rows: Number(counted?.['rows']), orders: Number(counted?.['orders']) };
}

/** How many of the lake's orders were read again; 0 of a table without orders. */
export async function countReturnedOrders(
  database: Database,
  { table: main, stored, incoming }: States,
): Promise<number> {
  if (!hasEvents(main)) return 0;
  // A transaction keeps its id when its status changes; an unchanged event has the same event id.
  const ids = ['amazon_order_id', 'event_id', ...(main.row === 'transaction' ? ['transaction_id'] : [])];
  const isKnown = ids.map((id) => `${id} IN (SELECT ${id} FROM (${incoming}) WHERE ${id} IS NOT NULL)`).join(' OR ');
  const [orders] = await database.rows(
    `SELECT count(DISTINCT amazon_order_id) FILTER (${isKnown}) AS returned FROM (${stored}) WHERE amazon_order_id IS NOT NULL`,
  );
  return Number(orders?.['returned']);
}

/** The differences of two states. The database has their rows in the tables `vanished_` and `appeared_`, moved ones in both. */
export interface Differing {
  readonly vanished: number;
  readonly appeared: number;
  readonly differ: number;
  /** Deferred transactions that are released now, and what an open settlement has gained; not counted above. */
  readonly released: number;
  readonly grown: number;
  /** Events without a date that lie in a part of their window that was not read before; not counted above. */
  readonly moved: number;
  /** How many rows the examples are taken from: of events both of a pair. */
  readonly rows: number;
  readonly examples: readonly ChangeExample[];
}

/** In SQL: the identity of a group, never null: its id, or its raw text where it has none. Earlier versions wrote an empty id. */
const groupIdentity = "coalesce(nullif(group_id, ''), raw)";

/**
 * Finds the differences of two states. Identical events of a slice have distinct ids (`-2`, `-3` …), so ids are compared with
 * their multiplicity: where one of three vanished, it is the third.
 */
export async function findDiffering(database: Database, states: MainStates): Promise<Differing> {
  const { table: main, stored, incoming, isKnown = 'true', grows } = states;
  const key = main.row === 'group' ? groupIdentity : 'event_id';
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
  if (main.row === 'group') {
    const groups = await changedGroups(database, states);
    return { vanished, appeared, released: 0, moved: 0, ...groups, rows: vanished + appeared + groups.differ };
  }
  const isSame = vanished + appeared === 0;
  const mayRelease = !isSame && main.row === 'transaction';
  const [releases] = mayRelease
    ? await database.rows(`SELECT count(DISTINCT transaction_id) AS released FROM (${releasedIds})`)
    : [];
  const released = Number(releases?.['released'] ?? 0);
  const { differ, examples } = isSame ? { differ: 0, examples: [] } : await pairsOfEvents(database, main);
  const grown = grows ? Math.max(0, appeared - differ) : 0;
  const counted = { vanished: vanished - released, appeared: appeared - released - grown, differ: differ - released };
  const rows = counted.vanished + counted.appeared;
  const moved = await addMoved(database, states);
  return { ...counted, released, grown, moved, rows, examples: rows === 0 ? [] : examples };
}

/** The columns of a custom table that say where a row was read. */
const placeColumns = ['window_start', 'window_end', 'position'];

/**
 * Counts the rows of custom tables that one of two states has more often, wherever they were read. These rows have no identity, so that
 * one with another value counts as vanished and as appeared.
 *
 * @param isKnown in SQL: whether an incoming row is of a window that was read before
 */
export async function countDifferingRows(
  database: Database,
  states: readonly States[],
  isKnown: string,
): Promise<Differing> {
  const counts = { appeared: 0, vanished: 0 };
  for (const { table, stored, incoming } of states) {
    const names = table.columns.map(({ name }) => name).filter((name) => !placeColumns.includes(name));
    const compared = names.includes('content_hash') ? names.filter((name) => name !== 'raw') : names;
    const rows = (state: string) => `SELECT ${compared.map(identifier).join(', ')} FROM (${state})`;
    const more = (one: string, other: string) => `(SELECT count(*) FROM (${one} EXCEPT ALL ${other}))`;
    const [found] = await database.rows(
      `SELECT ${more(`${rows(incoming)} WHERE ${isKnown}`, rows(stored))} AS appeared, ` +
        `${more(rows(stored), rows(incoming))} AS vanished`,
    );
    counts.appeared += Number(found?.['appeared']);
    counts.vanished += Number(found?.['vanished']);
  }
  const rows = counts.appeared + counts.vanished;
  return { ...counts, differ: 0, released: 0, grown: 0, moved: 0, rows, examples: [] };
}

/**
 * Adds events without a date to `vanished_`, where they were, and to `appeared_`, where they are: a window that has grown may have
 * others next to them. Returns their number.
 */
async function addMoved(database: Database, { table: main, stored, incoming, isKnown }: MainStates): Promise<number> {
  if (isKnown === undefined || !hasEvents(main)) return 0;
  await database.execute(
    `CREATE OR REPLACE TEMP TABLE moved_ AS SELECT * FROM (${incoming}) ` +
      `WHERE posted_at IS NULL AND NOT (${isKnown}) AND event_id IN (SELECT event_id FROM (${stored}))`,
  );
  const [count] = await database.rows('SELECT count(*) AS moved FROM moved_');
  const moved = Number(count?.['moved']);
  if (moved === 0) return 0;
  await database.execute(
    `INSERT INTO vanished_ BY NAME SELECT * FROM (${stored}) WHERE event_id IN (SELECT event_id FROM moved_)`,
  );
  await database.execute('INSERT INTO appeared_ BY NAME SELECT * FROM moved_');
  return moved;
}

/** In SQL: the transactions that were deferred and are released now. */
const releasedIds =
  "SELECT transaction_id FROM vanished_ JOIN appeared_ AS now USING (transaction_id) WHERE vanished_.status = 'DEFERRED' " +
  "AND now.status LIKE '%RELEASED'";

const allChanges =
  "SELECT 'vanished' AS change, * FROM vanished_ UNION ALL BY NAME SELECT 'appeared' AS change, * FROM appeared_";

/** Counts the pairs of a vanished and an appeared row: of one transaction by its id, of events by their order and list. */
async function pairsOfEvents(database: Database, main: Table): Promise<Pick<Differing, 'differ' | 'examples'>> {
  const isTransaction = main.row === 'transaction';
  const orderId = historyValue(main, 'amazon_order_id');
  const subject = isTransaction ? 'transaction_id' : orderId;
  const list = isTransaction ? 'transaction_type' : historyValue(main, 'event_list');
  const pair = isTransaction ? subject : `${subject}, ${list}`;
  const [pairs] = await database.rows(
    'SELECT coalesce(sum(least(appeared, vanished)), 0)::BIGINT AS pairs FROM (' +
      "SELECT count(*) FILTER (change = 'appeared') AS appeared, count(*) FILTER (change = 'vanished') AS vanished " +
      `FROM (${allChanges}) AS rows WHERE ${subject} IS NOT NULL GROUP BY ${pair})`,
  );
  const isReleased = isTransaction ? `coalesce(transaction_id IN (${releasedIds}), false)` : 'false';
  const examples = await database.rows(
    `SELECT change, event_id AS id, ${list} AS event_list, ${orderId} AS amazon_order_id, posted_at ` +
      `FROM (${allChanges}) AS rows WHERE NOT ${isReleased} ` +
      `ORDER BY ${historyValue(main, 'effective_at')} NULLS LAST, id, change LIMIT ${mostExamples}`,
  );
  return { differ: Number(pairs?.['pairs']), examples: examples.map(exampleOf) };
}

async function changedGroups(
  database: Database,
  { stored, incoming }: States,
): Promise<Pick<Differing, 'differ' | 'grown' | 'examples'>> {
  const pairs = `(${incoming}) AS now JOIN (${stored}) AS was USING (group_id) WHERE now.raw <> was.raw`;
  const changed = `SELECT now.* FROM ${pairs} AND was.ended_at IS NOT NULL`;
  const [count] = await database.rows(
    `SELECT count(*) FILTER (was.ended_at IS NOT NULL) AS differ, count(*) FILTER (was.ended_at IS NULL) AS grown FROM ${pairs}`,
  );
  const examples = await database.rows(
    `SELECT change, coalesce(group_id, '') AS id, NULL AS event_list, NULL AS amazon_order_id, started_at AS posted_at ` +
      `FROM (${allChanges} UNION ALL BY NAME SELECT 'differs' AS change, * FROM (${changed})) ` +
      `ORDER BY started_at NULLS LAST, id LIMIT ${mostExamples}`,
  );
  const [differ, grown] = [Number(count?.['differ']), Number(count?.['grown'])];
  return { differ, grown, examples: examples.map(exampleOf) };
}

function exampleOf(row: Readonly<Record<string, unknown>>): ChangeExample {
  const text = (name: string) => (typeof row[name] === 'string' ? row[name] : null);
  const change = text('change');
  return {
    change: change === 'vanished' || change === 'differs' ? change : 'appeared',
    id: text('id') ?? '',
    event_list: text('event_list'),
    amazon_order_id: text('amazon_order_id'),
    posted_at: text('posted_at'),
  };
}
