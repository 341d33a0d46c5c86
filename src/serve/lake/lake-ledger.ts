import { groupEventsPipeline } from '../../../pipelines/group-events.js';
import { orderEventsPipeline } from '../../../pipelines/order-events.js';
import { isFileMissing } from '../../core/duckdb/views.js';
import { loadVersion } from '../../lake/loads/load-keys.js';
import type { HttpRefusal } from '../../core/http-server/refusal.js';
import { isoDate } from '../../core/numeric/instant.js';
import { dayMs } from '../../core/windows.js';
import type {
  InstantRange,
  Ledger,
  LedgerPage,
  LedgerQuery,
  SummaryQuestion,
  TransactionLedger,
} from '../http/ledger.js';
import { invalidInput } from '../http/outcome.js';
import {
  CommittedFiles,
  compare,
  eachTable,
  nearestFiles,
  type CommittedFile,
  type MainTableName,
  type MainTables,
} from './committed-files.js';
import { localCopies, MissingFile, type LocalCopies } from './local-copies.js';
import { OrderFiles } from './order-files.js';
import * as stored from './stored-rows.js';
import { cursorAfter, cursorText, readCursor, undeliveredRows, type RowCursor, type StoredRow } from './stored-rows.js';
import { Readers } from './readers.js';

/** Rows of one read: ten pages of the usual size. */
const rowsAtOnce = 1000;

/** Compressed bytes of one read, unless a single page has more. */
const bytesAtOnce = 4_000_000;

/** Characters of rows kept for the next pages. */
const aheadRoom = 32_000_000;

/** Bytes of local disk for copies of a remote lake's files. */
const copyRoom = 4_000_000_000;

/** An instant after every record, milliseconds since 1970. */
const latestMs = Date.parse('9999-12-31');

/** Largest number of attempts at a question whose files are replaced by commits while they are read. */
const mostAttempts = 5;

/** The instant by which rows are asked for, where it isn't `effective_at`. */
const instantColumns: Readonly<Partial<Record<MainTableName, string>>> = {
  groups: 'started_at',
  payouts: 'created_at',
  settlement_summaries: 'period_start',
};

interface Question {
  /** Unique to the question and the versions of its tables. */
  readonly name: string;
  /** Rows of one read that are likely to stay within `bytesAtOnce`. */
  readonly rowsAtOnce: number;
  /** At least `count` rows after a cursor, unless there are fewer. */
  read(after: RowCursor | undefined, count: number): Promise<RowsAhead>;
}

/**
 * A lake as a ledger: it answers with the JSON that the service once sent. Rows are ordered by instant, rows of one
 * instant by their content, and rows of one page in order of receipt. Commits between two pages neither repeat nor hide
 * rows that stay.
 */
export class LakeLedger implements Ledger {
  readonly #tables: MainTables;
  readonly #account: string;
  readonly #files: Readonly<Record<MainTableName, CommittedFiles>>;
  readonly #readers: Readers;
  readonly #copies: LocalCopies;
  readonly #orders: OrderFiles;
  readonly #ahead = new ReadAhead(aheadRoom);

  private constructor(tables: MainTables, account: string, readers: Readers, copies: LocalCopies) {
    this.#tables = tables;
    this.#account = account;
    this.#files = eachTable(
      (name) => new CommittedFiles(tables.table(name), account, instantColumns[name] ?? 'effective_at'),
    );
    this.#readers = readers;
    this.#copies = copies;
    this.#orders = new OrderFiles(readers, this.#copies);
  }

  static async open(tables: MainTables, account: string): Promise<LakeLedger> {
    const copies = await localCopies(tables.store, copyRoom);
    return new LakeLedger(tables, account, await Readers.open([copies.folder]), copies);
  }

  async groups(range: InstantRange, query: LedgerQuery): Promise<LedgerPage> {
    return this.#page(query, () => this.#byDate('groups', stored.groupsByDate, range));
  }

  async events(range: InstantRange, query: LedgerQuery): Promise<LedgerPage> {
    return this.#page(query, () => this.#byDate('events', stored.eventsByDate, range));
  }

  async eventsOfGroup(groupId: string, query: LedgerQuery, range?: InstantRange): Promise<LedgerPage | undefined> {
    const loadKey = `group/${groupId}`;
    const within = range && { from: micros(range.from), to: micros(range.to) };
    const name = JSON.stringify([`group ${groupId}`, String(within?.from), String(within?.to)]);
    const page = await this.#page(query, () => {
      const files = this.#files.group_events.of(loadKey);
      return this.#whole(name, ['group_events'], files, async (after, count) => {
        const addresses = await this.#addresses(files);
        return this.#rows(addresses, stored.eventsOfGroup(groupId, { files: addresses, within, after, count }));
      });
    });
    // A listed group whose events weren't read isn't empty: it is unknown.
    return this.#isRead('group_events', groupEventsPipeline, loadKey) ? page : undefined;
  }

  async eventsOfOrder(orderId: string, query: LedgerQuery): Promise<LedgerPage | undefined> {
    const loadKey = `order/${orderId}`;
    const page = await this.#page(query, () => {
      const files = this.#files.order_events.of(loadKey);
      const { all } = this.#files.events;
      return this.#whole(`order ${orderId}`, ['order_events', 'events'], [...files, ...all], async (after, count) => {
        const asked = await this.#addresses(files);
        const found = await this.#orders.rowsOf(orderId, all);
        const addresses = await this.#addresses(found.map(({ file }) => file));
        const dated = found.map(({ rows }, at) => ({ file: addresses[at] ?? '', rows }));
        return this.#rows([...asked, ...addresses], stored.eventsOfOrder(orderId, asked, dated, { after, count }));
      });
    });
    // An order that was requested may have no events.
    const isKnown = page.items.length > 0 || query.cursor !== undefined;
    return isKnown || this.#isRead('order_events', orderEventsPipeline, loadKey) ? page : undefined;
  }

  /** The tables of Finances 2024-06-19 and of payouts. */
  readonly byTransaction: TransactionLedger = {
    transactions: ({ range, orderId, ...filters }, query) =>
      this.#page(query, () => {
        const within = storable(range);
        if (orderId === undefined) {
          return this.#byDate('transactions', (rows) => stored.transactionsByDate(rows, filters), within, filters);
        }
        const [dated, asked] = [this.#files.transactions.all, this.#files.order_transactions.of(`order/${orderId}`)];
        const name = JSON.stringify(['order', orderId, within, filters]);
        return this.#whole(name, ['transactions', 'order_transactions'], [...dated, ...asked], async (after, count) => {
          const files = { dated: await this.#addresses(dated), asked: await this.#addresses(asked) };
          const bounds = { from: micros(within.from), to: micros(within.to) };
          const sql = stored.transactionsOfOrder(orderId, files, bounds, filters, { after, count });
          return this.#rows([...files.dated, ...files.asked], sql);
        });
      }),
    summaries: (question, query) => {
      // Sums of periods aren't stored, and an empty answer would be wrong.
      if (question.settlementId === undefined) return Promise.reject(noPeriods(question));
      return this.#page(query, () => {
        const files = this.#files.settlement_summaries.all;
        return this.#whole(JSON.stringify(question), ['settlement_summaries'], files, async (after, count) => {
          const addresses = await this.#addresses(files);
          return this.#rows(addresses, stored.summariesOf(question, addresses, { after, count }));
        });
      });
    },
    payouts: (question, query) =>
      this.#page(query, () => {
        const files = this.#files.payouts.all;
        const range = storable(question.range);
        const name = JSON.stringify(['payouts', { ...question, range }]);
        return this.#whole(name, ['payouts'], files, async (after, count) => {
          const addresses = await this.#addresses(files);
          const within = { from: micros(range.from), to: micros(range.to) };
          return this.#rows(addresses, stored.payoutsByDate(question, addresses, within, { after, count }));
        });
      }),
  };

  /** Frees memory and local copies. Call it once no question is open. */
  async close(): Promise<void> {
    this.#readers.close();
    await this.#copies.clear();
  }

  #isRead(table: MainTableName, { name }: { readonly name: string }, loadKey: string): boolean {
    return loadVersion(this.#tables.snapshot(table), name, this.#account, loadKey) > 0;
  }

  async #page({ cursor, limit }: LedgerQuery, ask: () => Question): Promise<LedgerPage> {
    const after = cursor === undefined ? undefined : readCursor(cursor);
    for (let attempt = 1; ; attempt++) {
      await this.#tables.refresh(attempt > 1);
      try {
        return await this.#pageOf(ask(), after, limit);
      } catch (error) {
        const isGone = isFileMissing(error) || error instanceof MissingFile;
        if (!isGone || attempt === mostAttempts) throw error;
      }
    }
  }

  async #pageOf(question: Question, after: RowCursor | undefined, limit: number): Promise<LedgerPage> {
    const name = (cursor: RowCursor | undefined) =>
      `${question.name} ${cursor === undefined ? '' : cursorText(cursor)}`;
    const kept = this.#ahead.take(name(after));
    const isEnough = kept !== undefined && (kept.ended || kept.rows.length > limit);
    const { rows, ended } = isEnough
      ? kept
      : await question.read(after, Math.max(limit + 1, Math.min(rowsAtOnce, question.rowsAtOnce)));
    const page = rows.slice(0, limit);
    const items = page
      .toSorted((a, b) => compare(a.window, b.window) || compare(a.position, b.position))
      .map(({ list, raw }) => ({ list, json: raw }));
    const last = cursorAfter(page, after);
    if (last === undefined || (ended && rows.length <= limit)) return { items, next: undefined };
    this.#ahead.keep(name(last), { rows: rows.slice(limit), ended });
    return { items, next: cursorText(last) };
  }

  /** A question about a range of dates. `filters`: further conditions of `query`. */
  #byDate(
    table: 'events' | 'groups' | 'transactions',
    query: typeof stored.eventsByDate,
    range: InstantRange,
    filters: object = {},
  ): Question {
    const [from, to] = [micros(range.from), micros(range.to)];
    const { all } = this.#files[table];
    return {
      name: JSON.stringify([table, String(from), String(to), this.#tables.snapshot(table).version, filters]),
      rowsAtOnce: rowsOf(all),
      read: async (after, count) => {
        const wanted = count + (after?.copies ?? 0);
        const start = after === undefined || after.at < from ? from : after.at;
        const read = async (rows: number): Promise<RowsAhead | undefined> => {
          const { files, until } = nearestFiles(all, start, to, rows);
          const addresses = await this.#addresses(files);
          const found = await this.#rows(addresses, query({ files: addresses, from, to: until, after, count: wanted }));
          if (found.length < wanted && until < to) return undefined;
          return { rows: undeliveredRows(found, after), ended: found.length < wanted };
        };
        // Row counts of the log are a hint: where they give too few rows, the whole range is read.
        return (await read(wanted)) ?? (await read(Infinity)) ?? { rows: [], ended: true };
      },
    };
  }

  /** A question without a range of dates; `rows` reads at most `count` rows from a cursor's instant and key on. */
  #whole(
    name: string,
    tables: readonly MainTableName[],
    files: readonly CommittedFile[],
    rows: (after: RowCursor | undefined, count: number) => Promise<stored.StoredRow[]>,
  ): Question {
    const versions = tables.map((table) => this.#tables.snapshot(table).version);
    return {
      name: JSON.stringify([name, ...versions]),
      rowsAtOnce: rowsOf(files),
      read: async (after, count) => {
        const wanted = count + (after?.copies ?? 0);
        const found = await rows(after, wanted);
        return { rows: undeliveredRows(found, after), ended: found.length < wanted };
      },
    };
  }

  #addresses(files: readonly CommittedFile[]): Promise<string[]> {
    return Promise.all(files.map((file) => this.#copies.addressOf(file)));
  }

  async #rows(addresses: readonly string[], query: stored.SqlQuery): Promise<stored.StoredRow[]> {
    if (addresses.length === 0) return [];
    return (await this.#readers.rows(query)).map(stored.storedRow);
  }
}

/** Rows of one read, by the average row size of the file with the largest rows. */
function rowsOf(files: readonly CommittedFile[]): number {
  const largest = files.reduce((most, { size, rows }) => (rows > 0 ? Math.max(most, size / rows) : most), 1);
  return Math.floor(bytesAtOnce / largest);
}

/** The refusal of a summary by days: a lake has summaries of settlements only, which cover other days. */
function noPeriods({ days }: SummaryQuestion): HttpRefusal {
  const period = [days?.first, days?.last].map((day) => (day === undefined ? '' : isoDate(day * dayMs)));
  return invalidInput(
    'A lake has summaries of settlements only: use relatedIdentifierName=SETTLEMENT_ID, or add up the transactions of the period.',
    period.join(' to ').trim(),
  );
}

/** A range within the instants that a table can hold. */
function storable({ from, to }: InstantRange): InstantRange {
  return { from: Math.max(from, 0), to: Math.min(to, latestMs) };
}

/** The first microsecond at or after an instant in milliseconds. */
function micros(ms: number): bigint {
  return BigInt(Math.ceil(ms * 1000));
}

/** Rows that follow a cursor. */
interface RowsAhead {
  readonly rows: readonly StoredRow[];
  /** Whether they are the last ones. */
  readonly ended: boolean;
}

/**
 * A cache of rows that were read along with a page and are likely to be requested next: finding one page costs as much
 * as finding ten consecutive ones. The oldest rows are dropped when there is no room.
 */
class ReadAhead {
  readonly #room: number;
  /** Rows by question and cursor, oldest first. */
  readonly #kept = new Map<string, RowsAhead & { readonly size: number }>();
  #used = 0;

  /** @param room largest total length of `raw`, characters */
  constructor(room: number) {
    this.#room = room;
  }

  /** Removes and returns the rows for a cursor. */
  take(name: string): RowsAhead | undefined {
    const found = this.#kept.get(name);
    if (found === undefined) return undefined;
    this.#kept.delete(name);
    this.#used -= found.size;
    return found;
  }

  keep(name: string, ahead: RowsAhead): void {
    this.take(name);
    const size = ahead.rows.reduce((sum, { raw }) => sum + raw.length, 0);
    this.#kept.set(name, { ...ahead, size });
    this.#used += size;
    for (const oldest of this.#kept.keys()) {
      if (this.#used <= this.#room) break;
      this.take(oldest);
    }
  }
}
