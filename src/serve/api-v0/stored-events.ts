import { readParquet } from '../../core/duckdb/literals.js';
import { loadKeyFor } from '../../lake/catalog/load-key.js';
import * as tables from '../../sources/finances/api-v0/event-tables.js';
import type { DataFile } from '../../lake/delta/data-file.js';
import { latest } from '../lake/committed-files.js';
import { boundsOf, type LakePages } from '../lake/lake-pages.js';
import {
  sentColumns,
  inRange,
  numberedRows,
  rowsAfter,
  rowsInOrder,
  type InstantBounds,
  type PageStart,
  type SqlQuery,
} from '../lake/stored-rows.js';
import type { EventBackend } from './event-backend.js';
import { Mutex } from '../../core/mutex.js';

/** The groups and events of a lake. */
export function storedEvents(pages: LakePages): EventBackend {
  const groups = pages.filesOf(tables.groups, 'started_at');
  const events = pages.filesOf(tables.events);
  const groupEvents = pages.filesOf(tables.groupEvents);
  const orderEvents = pages.filesOf(tables.orderEvents);
  const orders = new OrderIndex(pages);
  return {
    groups: (range, query) => pages.page(query, () => pages.byDate(groups, groupsByDate, range)),
    events: (range, query) => pages.page(query, () => pages.byDate(events, eventsByDate, range)),
    eventsOfGroup: async (groupId, query, range) => {
      const loadKey = loadKeyFor('group', groupId);
      const within = range && boundsOf(range);
      const key = JSON.stringify([`group ${groupId}`, String(within?.from), String(within?.to)]);
      const page = await pages.page(query, () =>
        pages.ofTable(key, groupEvents, groupEvents.withLoadKey(loadKey), (files, start) =>
          eventsOfGroup(groupId, files, within, start),
        ),
      );
      // A listed group whose events aren't loaded is unknown, not empty.
      return pages.isLoaded(groupEvents, loadKey) ? page : undefined;
    },
    eventsOfOrder: async (orderId, query) => {
      const loadKey = loadKeyFor('order', orderId);
      const page = await pages.page(query, () => {
        const files = orderEvents.withLoadKey(loadKey);
        const { all } = events;
        return pages.withoutRange(`order ${orderId}`, [orderEvents, events], [...files, ...all], async (start) => {
          const requested = await pages.addresses(files);
          const found = await orders.orderRows(orderId, all);
          const read = [...requested, ...found.map(({ file }) => file)];
          return pages.rows(read, eventsOfOrder(orderId, requested, found, start));
        });
      });
      // A loaded order may have no events.
      const isKnown = page.items.length > 0 || query.cursor !== undefined;
      return isKnown || pages.isLoaded(orderEvents, loadKey) ? page : undefined;
    },
  };
}

/** Query for events whose instant lies in the range. `files`, here and below: paths or URLs for DuckDB. */
function eventsByDate(files: readonly string[], range: InstantBounds, page: PageStart): SqlQuery {
  return rowsInOrder(files, { where: inRange(range), parameters: [] }, page);
}

/** Query for all events of a group, or those whose instant lies in the range. */
function eventsOfGroup(
  groupId: string,
  files: readonly string[],
  within: InstantBounds | undefined,
  page: PageStart,
): SqlQuery {
  const inBounds = within === undefined ? '' : ` AND ${inRange(within)}`;
  return rowsInOrder(files, { where: `group_id = $1${inBounds}`, parameters: [groupId] }, page);
}

/**
 * Query for groups that opened in the range; a group without that instant is sorted by the start of the window that
 * listed it.
 */
function groupsByDate(files: readonly string[], { from, to }: InstantBounds, page: PageStart): SqlQuery {
  const sql =
    `SELECT epoch_us(coalesce(started_at, window_start)) AS instant, coalesce(group_id, '') AS key, '' AS list, 0::BIGINT AS "window", ` +
    `0::BIGINT AS position, raw FROM ${readParquet(files)} WHERE instant >= ${from} AND instant < ${to}`;
  return rowsAfter(sql, [], page);
}

/** Possible rows of an order in one file. */
interface FileRows {
  /** Path for DuckDB. */
  readonly file: string;
  /** Row numbers in the file, from 0; undefined: too many, so that the whole file is read. */
  readonly rows: readonly number[] | undefined;
}

/**
 * Query for all events of an order: those that were loaded by order, and those that were loaded by date alone, because
 * they were posted later or the order was never requested. An event in both tables is the same one if its content is
 * equal. Equal events within one table may be genuine: the result has as many as the table with more of them.
 */
function eventsOfOrder(
  orderId: string,
  requested: readonly string[],
  dated: readonly FileRows[],
  page: PageStart,
): SqlQuery {
  const columns = sentColumns(`coalesce(epoch_us(effective_at), ${latest})`);
  const copy = 'row_number() OVER (PARTITION BY key ORDER BY instant, position) AS copy';
  const rows = (sources: readonly string[]) =>
    sources.length === 0 ? [] : [`SELECT *, ${copy} FROM (${sources.join(' UNION ALL ')})`];
  const tables = [
    ...rows(
      requested.length === 0 ? [] : [`SELECT ${columns} FROM ${readParquet(requested)} WHERE requested_order_id = $1`],
    ),
    ...rows(dated.map((file) => `SELECT ${columns} FROM ${fileRowsSource(file)} amazon_order_id = $1`)),
  ];
  const [first = '', second] = tables;
  const all =
    second === undefined
      ? first
      : `WITH requested AS MATERIALIZED (${first}) SELECT * FROM requested UNION ALL SELECT * FROM (${second}) AS dated ` +
        'WHERE NOT EXISTS (SELECT 1 FROM requested WHERE requested.key = dated.key AND requested.copy = dated.copy)';
  return rowsAfter(all, [orderId], page);
}

/** A table in SQL with a WHERE clause to which a condition is appended. */
function fileRowsSource({ file, rows }: FileRows): string {
  return `${numberedRows(file)} WHERE ${rows === undefined ? '' : `file_row_number IN (${rows.join(', ')}) AND`}`;
}

/** Largest number of rows that are looked up one by one in a file. */
const mostRows = 1000;

/**
 * An index of orders in the files that were loaded by date: DuckDB keeps a hash of each event's order id with its row
 * number, as otherwise each query would read a whole column. Each file is indexed once, when first needed. With row numbers
 * DuckDB decodes only the row groups that contain them.
 */
class OrderIndex {
  readonly #pages: Pick<LakePages, 'readers' | 'addresses'>;
  /** File numbers by path. */
  readonly #numbers = new Map<string, number>();
  #count = 0;
  #isCreated = false;
  readonly #mutex = new Mutex();

  constructor(pages: Pick<LakePages, 'readers' | 'addresses'>) {
    this.#pages = pages;
  }

  /** All rows of an order in the files, and, where hashes collide, rows of other orders. Calls run one after the other. */
  orderRows(order: string, files: readonly DataFile[]): Promise<FileRows[]> {
    return this.#mutex.run(async () => {
      await this.#index(files);
      const found = await this.#pages.readers.rows({
        sql:
          `SELECT file, CASE WHEN count(*) <= ${mostRows} THEN string_agg("row", ' ') END AS "rows" FROM orders ` +
          'WHERE hash = hash($1::VARCHAR) GROUP BY file',
        parameters: [order],
      });
      const byNumber = new Map(found.map(({ file, rows }) => [Number(file), rows]));
      const containing = files.filter(({ lakePath }) => byNumber.has(this.#numbers.get(lakePath) ?? -1));
      const addresses = await this.#pages.addresses(containing);
      return containing.map(({ lakePath }, at) => {
        const rows = byNumber.get(this.#numbers.get(lakePath) ?? -1) ?? undefined;
        return {
          file: addresses[at] ?? '',
          rows: rows === undefined ? undefined : String(rows).split(' ').map(Number),
        };
      });
    });
  }

  async #index(files: readonly DataFile[]): Promise<void> {
    if (!this.#isCreated) await this.#execute('CREATE TABLE orders (hash UBIGINT, file INTEGER, "row" INTEGER)');
    this.#isCreated = true;
    const current = new Set(files.map(({ lakePath }) => lakePath));
    const removed = [...this.#numbers].filter(([path]) => !current.has(path));
    if (removed.length > 0) {
      await this.#execute(`DELETE FROM orders WHERE file IN (${removed.map(([, number]) => number).join(', ')})`);
      for (const [path] of removed) this.#numbers.delete(path);
    }
    for (const file of files) {
      if (this.#numbers.has(file.lakePath)) continue;
      const number = this.#count++;
      const [address = ''] = await this.#pages.addresses([file]);
      const rows = numberedRows(address);
      await this.#execute(
        `INSERT INTO orders SELECT hash(amazon_order_id), ${number}, file_row_number FROM ${rows} ` +
          'WHERE amazon_order_id IS NOT NULL',
      );
      this.#numbers.set(file.lakePath, number);
    }
  }

  async #execute(sql: string): Promise<void> {
    await this.#pages.readers.rows({ sql, parameters: [] });
  }
}
