import type { Database } from '../../../core/duckdb/connection.js';
import { literal } from '../../../core/duckdb/literals.js';
import { codeOf } from '../../../core/errors.js';
import { formatCount } from '../../../core/text/amounts.js';
import type { ResultCell } from '../../../core/text/rows.js';
import type { Certificate, CheckContext, ProblemLocation } from './certificate.js';
import { rowsIn, rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { pathsOf, type ReadableFile } from './file-contents.js';
import type { LogFile } from './log-files.js';
import { byDate, byGroup, byTransaction } from './main-tables.js';

/** In SQL: groups whose events don't have positions from 0 on without a gap. */
export const haveGaps = 'GROUP BY account, group_id HAVING count(*) <> max(position) + 1';

/** In SQL: the sums over the entries of each settlement and currency. */
export const netSumColumns =
  "sum(amount) FILTER (role = 'net') AS net, count(*) FILTER (role = 'net' AND amount_text IS NOT NULL) AS inexact, " +
  "count(*) FILTER (role = 'unknown') AS unknown";

/**
 * Tables in DuckDB for what must be compared across files: a few numbers and ids for each event, and net sums for each
 * group. DuckDB spills them to disk.
 */
export class IndexTables {
  readonly #database: Database;
  readonly #certificate: Certificate;
  readonly #files: LogFile[] = [];

  private constructor(database: Database, certificate: Certificate) {
    this.#database = database;
    this.#certificate = certificate;
  }

  static async create({ events: database, certificate }: CheckContext): Promise<IndexTables> {
    const sums = 'currency VARCHAR, net DECIMAL(38,6), inexact BIGINT, unknown BIGINT';
    await database.execute(
      'CREATE TABLE seen (tab VARCHAR, account VARCHAR, file INTEGER, id VARCHAR, content UHUGEINT, instant BIGINT, ' +
        'dated BOOLEAN, inside BOOLEAN, group_id VARCHAR, position BIGINT, currency VARCHAR)',
    );
    await database.execute(`CREATE TABLE nets (account VARCHAR, group_id VARCHAR, ${sums})`);
    await database.execute(`CREATE TABLE paid (account VARCHAR, group_id VARCHAR, settlement_id VARCHAR, ${sums})`);
    return new IndexTables(database, certificate);
  }

  /** The file with a number in `seen`. */
  file(number: ResultCell | undefined): ProblemLocation {
    return this.#files[Number(number)] ?? { table: '', file: '', slice: '' };
  }

  /**
   * Adds what a check adds, or nothing where it fails.
   *
   * @returns whether DuckDB could read all that the check reads
   */
  async addTogether(check: () => Promise<void>): Promise<boolean> {
    await this.#database.execute('BEGIN TRANSACTION');
    try {
      await check();
    } catch (error) {
      await this.#database.execute('ROLLBACK');
      if (codeOf(error) !== 'SQL') throw error;
      return false;
    }
    await this.#database.execute('COMMIT');
    return true;
  }

  /** Adds the events of main files of one table and account; `derived` are the files with the entries of whole bundles. */
  async addEvents(mains: readonly ReadableFile[], derived: readonly ReadableFile[]): Promise<void> {
    const [first] = mains;
    if (first === undefined) return;
    const { table, account } = first.file;
    const number = this.#files.push(...mains.map(({ file }) => file)) - mains.length;
    const currencies =
      derived.length === 0
        ? "SELECT '' AS event_id, '' AS currency WHERE false"
        : `SELECT event_id, min(currency) AS currency FROM ${rowsIn(pathsOf(derived))} ` +
          'GROUP BY event_id HAVING count(DISTINCT currency) = 1';
    const isByDate = table === byDate.table;
    await this.#database.execute(
      `INSERT INTO seen SELECT ${literal(table)}, ${literal(account)}, ${number} + ${sourceColumn}, event_id, ` +
        'md5_number(content_hash), epoch_ms(effective_at), posted_at IS NOT NULL, ' +
        `${isByDate ? 'posted_at IS NULL OR (posted_at >= window_start AND posted_at < window_end)' : 'true'}, ` +
        `group_id, position, known.currency FROM ${rowsWithSource(pathsOf(mains))} ` +
        `LEFT JOIN (${currencies}) AS known USING (event_id)`,
    );
  }

  /** Adds the net sums of files with entries by group, all of one account. */
  async addNets(files: readonly ReadableFile[]): Promise<void> {
    const [first] = files;
    if (first === undefined) return;
    await this.#database.execute(
      `INSERT INTO nets SELECT ${literal(first.file.account)}, group_id, currency, ${netSumColumns} ` +
        `FROM ${rowsIn(pathsOf(files))} GROUP BY group_id, currency`,
    );
  }

  /** Adds what the transactions of an account's files have paid: all that are released, except transfers to the bank. */
  async addPaid(files: readonly ReadableFile[]): Promise<void> {
    const [first] = files;
    if (first === undefined) return;
    await this.#database.execute(
      `INSERT INTO paid SELECT ${literal(first.file.account)}, group_id, settlement_id, currency, sum(total_amount), ` +
        `count(total_text), 0 FROM ${rowsIn(pathsOf(files))} ` +
        "WHERE status = 'RELEASED' AND transaction_type IS DISTINCT FROM 'Transfer' " +
        'GROUP BY group_id, settlement_id, currency',
    );
  }

  /** Groups, by `groupKey`, that have an event and meet a clause in SQL. */
  async groups(clause: typeof haveGaps | '' = ''): Promise<ReadonlySet<string>> {
    const rows = await this.#database.rows(
      `SELECT DISTINCT account, group_id FROM seen WHERE tab = ${literal(byGroup.table)} ${clause}`,
    );
    return new Set(rows.map((row) => groupKey(String(row['account']), String(row['group_id']))));
  }

  /** The earliest event or transaction of each account that was read by date, milliseconds since 1970. */
  async oldest(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.rows(
      'SELECT account, min(instant) AS oldest FROM seen ' +
        `WHERE tab IN (${literal(byDate.table)}, ${literal(byTransaction.table)}) GROUP BY account`,
    );
    return new Map(rows.map((row) => [String(row['account']), Number(row['oldest'])]));
  }

  /** Reports duplicate ids, and dates outside of the requested windows. */
  async check(): Promise<void> {
    const certificate = this.#certificate;
    const [counts] = await this.#database.rows(
      `SELECT count(*) AS events, count(*) FILTER (tab = ${literal(byDate.table)} AND dated) AS dated FROM seen`,
    );
    certificate.count('unique-ids', Number(counts?.['events']));
    certificate.count('event-dates', Number(counts?.['dated']));

    const outside = await this.#database.rows(
      'SELECT file, count(*) AS events, min(id) AS id FROM seen WHERE NOT inside GROUP BY file ORDER BY file',
    );
    for (const { file, events, id } of outside) {
      const text = `${formatCount(Number(events), 'event')} with a date outside of the window, such as ${String(id)}`;
      certificate.add('event-dates', 'upstream', this.file(file), text);
    }

    // An event that the service returned for a window outside of its date may occur again in the right one.
    const twice = await this.#database.rows(
      'SELECT min(file) AS file, max(file) AS other, count(*) AS ids, min(id) AS id, fault FROM (' +
        'SELECT min(file) AS file, max(file) AS other, id, count(*) FILTER (inside) > 1 AS fault, tab ' +
        'FROM seen GROUP BY tab, account, id HAVING count(*) > 1) AS repeated ' +
        'GROUP BY tab, repeated.file, repeated.other, fault ORDER BY ALL LIMIT 1000',
    );
    for (const { file, other, ids, id, fault } of twice) {
      const beside = file === other ? '' : `, also in ${this.file(other).file}`;
      const text = `${formatCount(Number(ids), 'event id')} more than once, such as ${String(id)}${beside}`;
      certificate.add('unique-ids', fault === true ? 'lake' : 'upstream', this.file(file), text);
    }
  }
}

/** The key of an account's group in a map. */
export function groupKey(account: string, group: string): string {
  return JSON.stringify([account, group]);
}
