import { groupEventsPipeline } from '../../../pipelines/group-events.js';
import { orderEventsPipeline } from '../../../pipelines/order-events.js';
import { compare } from '../../core/compare.js';
import { isFileMissing } from '../../core/duckdb/views.js';
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
import { CommittedFiles, nearestFiles, type CommittedFile, type MainTables } from './committed-files.js';
import { MissingFile } from '../../lake/files/workspace.js';
import { localCopies, type LocalCopies } from './local-copies.js';
import { OrderIndex } from './order-index.js';
import * as stored from './stored-rows.js';
import { cursorAfter, cursorText, readCursor, undeliveredRows, type RowCursor, type StoredRow } from './stored-rows.js';
import { Readers } from './readers.js';

/** Largest number of rows of one read, unless a page has more: ten pages of the default size. */
const rowsAtOnce = 1000;

/** Compressed bytes of one read, unless a single page has more. */
const bytesAtOnce = 4_000_000;

/** Capacity of the read-ahead cache, characters. */
const readAheadCharacters = 32_000_000;

/** Bytes of local disk for copies of a remote lake's files. */
const copyBytes = 4_000_000_000;

/** An instant after every record, milliseconds since 1970. */
const latestMs = Date.parse('9999-12-31');

/** Largest number of attempts at a question whose files are replaced by commits while they are read. */
const mostAttempts = 5;

interface Question {
  /** Unique to the question and the versions of its tables. */
  readonly key: string;
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
  readonly #files = new Map<string, CommittedFiles>();
  readonly #readers: Readers;
  readonly #copies: LocalCopies;
  readonly #orders: OrderIndex;
  readonly #ahead = new ReadAhead(readAheadCharacters);

  private constructor(tables: MainTables, account: string, readers: Readers, copies: LocalCopies) {
    this.#tables = tables;
    this.#account = account;
    this.#readers = readers;
    this.#copies = copies;
    this.#orders = new OrderIndex(readers, this.#copies);
  }

  static async open(tables: MainTables, account: string): Promise<LakeLedger> {
    const copies = await localCopies(tables.store, copyBytes);
    return new LakeLedger(tables, account, await Readers.open(copies.folder), copies);
  }

  async groups(range: InstantRange, query: LedgerQuery): Promise<LedgerPage> {
    return this.#page(query, () => this.#byDate('groups', stored.groupsByDate, range));
  }

  async events(range: InstantRange, query: LedgerQuery): Promise<LedgerPage> {
    return this.#page(query, () => this.#byDate('events', stored.eventsByDate, range));
  }

  async eventsOfGroup(groupId: string, query: LedgerQuery, range?: InstantRange): Promise<LedgerPage | undefined> {
    const loadKey = `group/${groupId}`;
    const within = range && boundsOf(range);
    const key = JSON.stringify([`group ${groupId}`, String(within?.from), String(within?.to)]);
    const page = await this.#page(query, () => {
      const files = this.#filesOf('group_events').withLoadKey(loadKey);
      return this.#withoutRange(key, ['group_events'], files, async (start) => {
        const addresses = await this.#addresses(files);
        return this.#rows(addresses, stored.eventsOfGroup(groupId, addresses, within, start));
      });
    });
    // A listed group whose events aren't loaded is unknown, not empty.
    return this.#isLoaded(groupEventsPipeline, loadKey) ? page : undefined;
  }

  async eventsOfOrder(orderId: string, query: LedgerQuery): Promise<LedgerPage | undefined> {
    const loadKey = `order/${orderId}`;
    const page = await this.#page(query, () => {
      const files = this.#filesOf('order_events').withLoadKey(loadKey);
      const { all } = this.#filesOf('events');
      return this.#withoutRange(`order ${orderId}`, ['order_events', 'events'], [...files, ...all], async (start) => {
        const requested = await this.#addresses(files);
        const found = await this.#orders.orderRows(orderId, all);
        const addresses = await this.#addresses(found.map(({ file }) => file));
        const dated = found.map(({ rows }, at) => ({ file: addresses[at] ?? '', rows }));
        return this.#rows([...requested, ...addresses], stored.eventsOfOrder(orderId, requested, dated, start));
      });
    });
    // A loaded order may have no events.
    const isKnown = page.items.length > 0 || query.cursor !== undefined;
    return isKnown || this.#isLoaded(orderEventsPipeline, loadKey) ? page : undefined;
  }

  readonly byTransaction: TransactionLedger = {
    transactions: ({ range, orderId, ...filters }, query) =>
      this.#page(query, () => {
        const within = storable(range);
        if (orderId === undefined) {
          const byDate: typeof stored.eventsByDate = (...selection) => stored.transactionsByDate(...selection, filters);
          return this.#byDate('transactions', byDate, within, filters);
        }
        const dated = this.#filesOf('transactions').all;
        const requested = this.#filesOf('order_transactions').withLoadKey(`order/${orderId}`);
        const key = JSON.stringify(['order', orderId, within, filters]);
        const tables = ['transactions', 'order_transactions'];
        return this.#withoutRange(key, tables, [...dated, ...requested], async (page) => {
          const files = { dated: await this.#addresses(dated), requested: await this.#addresses(requested) };
          const sql = stored.transactionsOfOrder(orderId, files, boundsOf(within), filters, page);
          return this.#rows([...files.dated, ...files.requested], sql);
        });
      }),
    summaries: (question, query) => {
      // Sums of periods aren't stored, and an empty answer would be wrong.
      if (question.settlementId === undefined) return Promise.reject(noPeriods(question));
      return this.#page(query, () => {
        const files = this.#filesOf('settlement_summaries').all;
        return this.#withoutRange(JSON.stringify(question), ['settlement_summaries'], files, async (page) => {
          const addresses = await this.#addresses(files);
          return this.#rows(addresses, stored.summariesOf(question, addresses, page));
        });
      });
    },
    payouts: (question, query) =>
      this.#page(query, () => {
        const files = this.#filesOf('payouts').all;
        const range = storable(question.range);
        const key = JSON.stringify(['payouts', { ...question, range }]);
        return this.#withoutRange(key, ['payouts'], files, async (page) => {
          const addresses = await this.#addresses(files);
          return this.#rows(addresses, stored.payoutsByDate(question, addresses, boundsOf(range), page));
        });
      }),
  };

  /** Frees memory and local copies. Call it once no question is open. */
  async close(): Promise<void> {
    this.#readers.close();
    await this.#copies.clear();
  }

  /** The account's files in a table. */
  #filesOf(table: string): CommittedFiles {
    const instant = table === 'groups' ? 'started_at' : 'effective_at';
    const files = this.#files.get(table) ?? new CommittedFiles(this.#tables.table(table), this.#account, instant);
    this.#files.set(table, files);
    return files;
  }

  #isLoaded({ name }: { readonly name: string }, loadKey: string): boolean {
    return this.#tables.lake.loadKeys(name, this.#account).has(loadKey);
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
    const keyAt = (cursor: RowCursor | undefined) =>
      `${question.key} ${cursor === undefined ? '' : cursorText(cursor)}`;
    const cached = this.#ahead.remove(keyAt(after));
    const isEnough = cached !== undefined && (cached.isEnd || cached.rows.length > limit);
    const { rows, isEnd } = isEnough
      ? cached
      : await question.read(after, Math.max(limit + 1, Math.min(rowsAtOnce, question.rowsAtOnce)));
    const page = rows.slice(0, limit);
    const items = page
      .toSorted((a, b) => compare(a.window, b.window) || compare(a.position, b.position))
      .map(({ list, raw }) => ({ list, json: raw }));
    const last = cursorAfter(page, after);
    if (last === undefined || (isEnd && rows.length <= limit)) return { items, next: undefined };
    this.#ahead.put(keyAt(last), { rows: rows.slice(limit), isEnd });
    return { items, next: cursorText(last) };
  }

  /** A question about a range of dates. `filters`: further conditions of `query`. */
  #byDate(
    table: 'events' | 'groups' | 'transactions',
    query: typeof stored.eventsByDate,
    range: InstantRange,
    filters: object = {},
  ): Question {
    const { from, to } = boundsOf(range);
    const { all } = this.#filesOf(table);
    return {
      key: JSON.stringify([table, String(from), String(to), this.#tables.table(table).snapshot.version, filters]),
      rowsAtOnce: rowsPerRead(all),
      read: async (after, count) => {
        const needed = count + (after?.copies ?? 0);
        const start = after === undefined || after.at < from ? from : after.at;
        const read = async (rows: number): Promise<RowsAhead | undefined> => {
          const { files, until } = nearestFiles(all, start, to, rows);
          const addresses = await this.#addresses(files);
          const found = await this.#rows(addresses, query(addresses, { from, to: until }, { after, count: needed }));
          if (found.length < needed && until < to) return undefined;
          return { rows: undeliveredRows(found, after), isEnd: found.length < needed };
        };
        // Row counts of the log are a hint: where they give too few rows, the whole range is read.
        return (await read(needed)) ?? (await read(Infinity)) ?? { rows: [], isEnd: true };
      },
    };
  }

  /** A question without a range of dates. `rows` reads at most `count` rows from the cursor's instant and key on. */
  #withoutRange(
    key: string,
    tables: readonly string[],
    files: readonly CommittedFile[],
    rows: (page: stored.PageStart) => Promise<stored.StoredRow[]>,
  ): Question {
    const versions = tables.map((table) => this.#tables.table(table).snapshot.version);
    return {
      key: JSON.stringify([key, ...versions]),
      rowsAtOnce: rowsPerRead(files),
      read: async (after, count) => {
        const needed = count + (after?.copies ?? 0);
        const found = await rows({ after, count: needed });
        return { rows: undeliveredRows(found, after), isEnd: found.length < needed };
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
function rowsPerRead(files: readonly CommittedFile[]): number {
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

/** A range in microseconds, each bound rounded up. */
function boundsOf({ from, to }: InstantRange): stored.InstantBounds {
  const micros = (ms: number) => BigInt(Math.ceil(ms * 1000));
  return { from: micros(from), to: micros(to) };
}

/** Rows that follow a cursor. */
interface RowsAhead {
  readonly rows: readonly StoredRow[];
  /** Whether they are the last ones. */
  readonly isEnd: boolean;
}

/**
 * A cache of rows that were read along with a page and are likely to be requested next: finding one page costs as much
 * as finding ten consecutive ones. Beyond the capacity the oldest rows are dropped.
 */
class ReadAhead {
  readonly #capacity: number;
  /** Rows by question and cursor, oldest first. */
  readonly #entries = new Map<string, RowsAhead & { readonly size: number }>();
  #used = 0;

  /** @param capacity largest total length of `raw`, characters */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Removes and returns the rows for a cursor. */
  remove(key: string): RowsAhead | undefined {
    const found = this.#entries.get(key);
    if (found === undefined) return undefined;
    this.#entries.delete(key);
    this.#used -= found.size;
    return found;
  }

  put(key: string, ahead: RowsAhead): void {
    this.remove(key);
    const size = ahead.rows.reduce((sum, { raw }) => sum + raw.length, 0);
    this.#entries.set(key, { ...ahead, size });
    this.#used += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#used <= this.#capacity) break;
      this.remove(oldest);
    }
  }
}
