import type { Database } from '../../../core/duckdb/connection.js';
import { literal } from '../../../core/duckdb/literals.js';
import { statementsOf } from '../../../core/duckdb/sql-statements.js';
import { codeOf } from '../../../core/errors.js';
import { formatCount } from '../../../core/text/amounts.js';
import type { ResultCell } from '../../../core/text/rows.js';
import type { CertificateBuilder, CheckContext, ProblemLocation } from './certificate.js';
import { rowsIn, rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { pathsOf, statementOver, type ReadableFile } from './file-contents.js';
import type { LogFile } from './log-files.js';
import eventCounts from './event-counts.sql';
import groupPositions from './group-positions.sql';
import oldestByAccount from './oldest.sql';
import outsideEvents from './outside-events.sql';
import repeatedIds from './repeated-ids.sql';
import seenEvents from './seen.sql';
import sessionTables from './session-tables.sql';

/**
 * Tables in DuckDB for what must be compared across files: a few numbers and ids for each event, and net sums for each
 * group. DuckDB spills them to disk.
 */
export class IndexTables {
  readonly #database: Database;
  readonly #certificate: CertificateBuilder;
  readonly #files: LogFile[] = [];

  private constructor(database: Database, certificate: CertificateBuilder) {
    this.#database = database;
    this.#certificate = certificate;
  }

  static async create({ database, certificate }: CheckContext): Promise<IndexTables> {
    for (const statement of statementsOf(sessionTables)) await database.execute(statement);
    return new IndexTables(database, certificate);
  }

  /** The file with a number in `seen`. */
  file(number: ResultCell | undefined): ProblemLocation {
    return this.#files[Number(number)] ?? { table: '', file: '', slice: '' };
  }

  /**
   * Adds what a check adds over a connection, or nothing where it fails.
   *
   * @returns whether DuckDB could read all that the check reads
   */
  async addTogether(database: Database, check: () => Promise<void>): Promise<boolean> {
    await database.execute('BEGIN TRANSACTION');
    try {
      await check();
    } catch (error) {
      await database.execute('ROLLBACK');
      if (codeOf(error) !== 'SQL') throw error;
      return false;
    }
    await database.execute('COMMIT');
    return true;
  }

  /** Adds the events of main files of one table and account; `derived` are the files with the entries of whole bundles. */
  async addEvents(mains: readonly ReadableFile[], derived: readonly ReadableFile[], database: Database): Promise<void> {
    const [main] = mains;
    if (main === undefined) return;
    const { table, account } = main.file;
    const first = this.#files.push(...mains.map(({ file }) => file)) - mains.length;
    const relations = {
      read_events:
        `SELECT * REPLACE (${first} + ${sourceColumn} AS ${sourceColumn}), ${literal(table)} AS tab, ` +
        `${literal(account)} AS account FROM ${rowsWithSource(pathsOf(mains))}`,
      read_entries:
        derived.length === 0 ? "SELECT '' AS event_id, '' AS currency WHERE false" : `FROM ${rowsIn(pathsOf(derived))}`,
    };
    await database.execute(`INSERT INTO seen ${statementOver(relations, seenEvents)}`);
  }

  /** Adds the rows of a statement over files of one table and account, which it reads by the name of the table. */
  async addSums(
    to: 'nets' | 'paid',
    statement: string,
    files: readonly ReadableFile[],
    database: Database,
  ): Promise<void> {
    const [first] = files;
    if (first === undefined) return;
    const { table, account } = first.file;
    const rows = rowsOfAccount(account, rowsIn(pathsOf(files)));
    await database.execute(`INSERT INTO ${to} ${statementOver({ [table]: rows }, statement)}`);
  }

  /** The groups that have an event, by `groupKey`: whether their events lack positions. */
  async groups(): Promise<ReadonlyMap<string, boolean>> {
    const rows = await this.#database.rows(groupPositions);
    return new Map(
      rows.map((row) => [groupKey(String(row['account']), String(row['group_id'])), row['has_gaps'] === true]),
    );
  }

  /** The earliest event or transaction of each account that was read by date, milliseconds since 1970. */
  async oldest(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.rows(oldestByAccount);
    return new Map(rows.map((row) => [String(row['account']), Number(row['oldest'])]));
  }

  /** Reports duplicate ids, and dates outside of the requested windows. */
  async check(): Promise<void> {
    const certificate = this.#certificate;
    const [counts] = await this.#database.rows(eventCounts);
    certificate.count('unique-ids', Number(counts?.['events']));
    certificate.count('event-dates', Number(counts?.['dated']));

    for (const { file, events, id } of await this.#database.rows(outsideEvents)) {
      const text = `${formatCount(Number(events), 'event')} with a date outside of the window, such as ${String(id)}`;
      certificate.add('event-dates', 'upstream', this.file(file), text);
    }

    for (const { file, other, ids, id, fault } of await this.#database.rows(repeatedIds)) {
      const beside = file === other ? '' : `, also in ${this.file(other).file}`;
      const text = `${formatCount(Number(ids), 'event id')} more than once, such as ${String(id)}${beside}`;
      certificate.add('unique-ids', fault === true ? 'lake' : 'upstream', this.file(file), text);
    }
  }
}

/** In SQL: rows with their account, which files don't have. */
export function rowsOfAccount(account: string, rows: string): string {
  return `SELECT *, ${literal(account)} AS account FROM ${rows}`;
}

/** The key of an account's group in a map. */
export function groupKey(account: string, group: string): string {
  return JSON.stringify([account, group]);
}
