import type { Database } from '../../../core/duckdb/connection.js';
import { literal } from '../../../core/duckdb/literals.js';
import { statementsOf } from '../../../core/duckdb/sql-statements.js';
import { codeOf } from '../../../core/errors.js';
import { textOrNull, type ResultCell } from '../../../core/text/rows.js';
import { rowsIn, rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import type { NetSum } from '../../settlements/settlements.js';
import { pathsOf, statementOver, type CheckedFile, type ProblemLocation } from './checked-files.js';
import groupPositions from '../statements/group-positions.sql';
import oldestByAccount from '../statements/oldest.sql';
import seenEvents from '../statements/seen.sql';
import sessionTables from '../statements/session-tables.sql';

/**
 * Tables in DuckDB for what must be compared across files: a few numbers and ids for each event, and net sums for each
 * group. DuckDB spills them to disk.
 */
export class IndexTables {
  readonly #database: Database;
  readonly #files: CheckedFile[] = [];

  private constructor(database: Database) {
    this.#database = database;
  }

  static async create(database: Database): Promise<IndexTables> {
    for (const statement of statementsOf(sessionTables)) await database.execute(statement);
    return new IndexTables(database);
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
  async addEvents(mains: readonly CheckedFile[], derived: readonly CheckedFile[], database: Database): Promise<void> {
    const [main] = mains;
    if (main === undefined) return;
    const { table, account } = main;
    const first = this.#files.push(...mains) - mains.length;
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
    files: readonly CheckedFile[],
    database: Database,
  ): Promise<void> {
    const [first] = files;
    if (first === undefined) return;
    const { table, account } = first;
    const rows = rowsOfAccount(account, rowsIn(pathsOf(files)));
    await database.execute(`INSERT INTO ${to} ${statementOver({ [table]: rows }, statement)}`);
  }

  /** The rows of a statement with net sums, by `groupKey` of the account and the id. */
  async netSums(statement: string): Promise<ReadonlyMap<string, readonly NetSum[]>> {
    const nets = new Map<string, NetSum[]>();
    for (const row of await this.#database.rows(statement)) {
      const key = groupKey(String(row['account']), String(row['id']));
      const [currency, net] = [textOrNull(row['currency']), textOrNull(row['net'])];
      const sum = { currency, net, inexact: Number(row['inexact']), unknown: Number(row['unknown']) };
      nets.set(key, [...(nets.get(key) ?? []), sum]);
    }
    return nets;
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
}

/** In SQL: rows with their account, which files don't have. */
export function rowsOfAccount(account: string, rows: string): string {
  return `SELECT *, ${literal(account)} AS account FROM ${rows}`;
}

/** The key of an account's group in a map. */
export function groupKey(account: string, group: string): string {
  return JSON.stringify([account, group]);
}
