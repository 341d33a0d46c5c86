import { hasEvents, type Table } from '../../../core/columns/table.js';
import type { Database } from '../../../core/duckdb/connection.js';
import { literal } from '../../../core/duckdb/literals.js';
import { statementsOf, statementOver } from '../../../core/duckdb/sql-statements.js';
import { codeOf } from '../../../core/errors.js';
import { numberOrNull, textOrNull, type ResultCell } from '../../../core/text/rows.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import { rowsIn, rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { settlementSummaries, transactions } from '../../../sources/finances/api-2024-06-19/transaction-tables.js';
import { groupEntries, groups } from '../../../sources/finances/api-v0/event-tables.js';
import { settlementReports } from '../../../sources/finances/settlement-reports/report-tables.js';
import { settlementOf, type NetSum, type Settlement } from '../../settlements/settlements.js';
import settlementRows from '../../settlements/settlements.sql';
import netsOfGroupEntries from '../session/nets-of-group-entries.sql';
import netsOfTransactions from '../session/nets-of-transactions.sql';
import seen from '../session/seen.sql';
import sessionTables from '../session/tables.sql';
import totalsOfReports from '../session/totals-of-reports.sql';
import totalsOfSummaries from '../session/totals-of-summaries.sql';
import unsummed from '../session/unsummed.sql';
import groupPositions from '../statements/group-positions.sql';
import netSumsOfSettlements from '../statements/net-sums-of-settlements.sql';
import oldestByAccount from '../statements/oldest.sql';
import { derivedOf, pathsOf, type CheckedFile, type ProblemLocation, type TableFiles } from './checked-files.js';

/** The total of a settlement: of its report, or of its summary, which has the net proceeds. */
export type SettlementTotal = Pick<
  Settlement,
  'account' | 'table' | 'file' | 'loadKey' | 'id' | 'start' | 'end' | 'total' | 'currency'
>;

/** What is kept of the rows of a table, over files of one account: the table of the session, and the statement whose rows it gets. */
const keptOf: ReadonlyMap<string, { readonly to: 'nets' | 'totals'; readonly statement: string }> = new Map([
  [groupEntries.name, { to: 'nets', statement: netsOfGroupEntries }],
  [transactions.name, { to: 'nets', statement: netsOfTransactions }],
  [settlementSummaries.name, { to: 'totals', statement: totalsOfSummaries }],
  [settlementReports.name, { to: 'totals', statement: totalsOfReports }],
]);

/**
 * Tables in DuckDB for what must be compared across files: a few numbers and ids for each event, net sums for each settlement, and its
 * totals. DuckDB spills them to disk.
 */
export class IndexTables {
  readonly #database: Database;
  readonly #files: readonly CheckedFile[];
  /** The number of each file: its index. */
  readonly #numbers: ReadonlyMap<CheckedFile, number>;

  private constructor(database: Database, files: readonly CheckedFile[]) {
    this.#database = database;
    this.#files = files;
    this.#numbers = new Map(files.map((file, number) => [file, number]));
  }

  /** @param files main files, in the order in which what they have is listed */
  static async create(database: Database, files: readonly CheckedFile[]): Promise<IndexTables> {
    for (const statement of statementsOf(sessionTables)) await database.execute(statement);
    return new IndexTables(database, files);
  }

  /** The file with a number. */
  file(number: ResultCell | undefined): ProblemLocation {
    return this.#files[Number(number)] ?? { table: '', file: '', loadKey: '' };
  }

  /**
   * Adds what a step adds over a connection, or nothing where it fails.
   *
   * @returns whether DuckDB could read all that the step reads
   */
  async addTogether(database: Database, step: () => Promise<void>): Promise<boolean> {
    await database.execute('BEGIN TRANSACTION');
    try {
      await step();
    } catch (error) {
      await database.execute('ROLLBACK');
      if (codeOf(error) !== 'SQL') throw error;
      return false;
    }
    await database.execute('COMMIT');
    return true;
  }

  /** Adds what is kept of files of one table and account: of settlement reports and of entries only of whole bundles. */
  async add({ schema, files, bundles }: TableFiles, database: Database): Promise<void> {
    const account = files[0]?.account ?? '';
    if (hasEvents(schema)) await this.#addEvents(files, derivedOf(bundles), database);
    if (schema.name === groups.name) await this.#addSettlements(files, database);
    const kept = keptOf.get(schema.name);
    const read = schema.name === settlementReports.name ? bundles.map(({ main }) => main) : files;
    if (kept === undefined || read.length === 0) return;
    const rows = `SELECT *, ${literal(account)} AS account FROM ${this.#numbered(read)}`;
    await database.execute(`INSERT INTO ${kept.to} ${statementOver({ [schema.name]: rows }, kept.statement)}`);
  }

  /** Adds the events of main files, and the amounts of their entries that no sum has. */
  async #addEvents(mains: readonly CheckedFile[], derived: readonly CheckedFile[], database: Database): Promise<void> {
    const [{ table, account } = { table: '', account: '' }] = mains;
    const [{ table: entries } = { table: '' }] = derived;
    const relations = {
      read_events: `SELECT *, ${literal(table)} AS tab, ${literal(account)} AS account FROM ${this.#numbered(mains)}`,
      read_entries:
        derived.length === 0
          ? "SELECT '' AS event_id, '' AS currency WHERE false"
          : `SELECT *, ${literal(entries)} AS tab FROM ${rowsWithSource(pathsOf(derived))}`,
    };
    await database.execute(`INSERT INTO seen ${statementOver(relations, seen)}`);
    if (derived.length > 0) await database.execute(`INSERT INTO unsummed ${statementOver(relations, unsummed)}`);
  }

  async #addSettlements(files: readonly CheckedFile[], database: Database): Promise<void> {
    for (const file of files) {
      const { path, account } = file;
      const rows = `SELECT *, ${literal(account)} AS account FROM ${rowsIn([path])}`;
      await database.execute(
        `INSERT INTO settlements SELECT ${this.#numberOf(file)}, * FROM (${statementOver({ groups: rows }, settlementRows)})`,
        { parameters: { account } },
      );
    }
  }

  #numberOf(file: CheckedFile): number {
    return this.#numbers.get(file) ?? -1;
  }

  /** In SQL: rows of main files, each with the number of its file. */
  #numbered(files: readonly CheckedFile[]): string {
    const numbers = files.map((file) => this.#numberOf(file));
    const number = `[${numbers.join(', ')}][${sourceColumn} + 1]`;
    return `(SELECT * REPLACE (${number} AS ${sourceColumn}) FROM ${rowsWithSource(pathsOf(files))})`;
  }

  /** The settlements of the files of groups. */
  async settlements(): Promise<Settlement[]> {
    const rows = await this.#database.rows('FROM settlements ORDER BY file, rowid');
    return rows.flatMap((row) => {
      const file = this.#files[Number(row['file'])];
      return file === undefined ? [] : [settlementOf(row, file)];
    });
  }

  /** The totals of the settlements in the files of a table. */
  async totals({ name: table }: Table): Promise<SettlementTotal[]> {
    const rows = await this.#database.rows('FROM totals WHERE tab = $table ORDER BY account, id, file', {
      parameters: { table },
    });
    return rows.map((row) => {
      const id = String(row['id']);
      const [start, end] = [numberOrNull(row['starts']), numberOrNull(row['ends'])];
      const [total, currency] = [textOrNull(row['total']), textOrNull(row['currency'])];
      const { file } = this.file(row['file']);
      const loadKey = loadKeyFor('settlement', id);
      return { table, file, loadKey, account: String(row['account']), id, start, end, total, currency };
    });
  }

  /** The net sums of a table by settlement, by `settlementKey` of the account and the id. */
  async netSums(
    { name: tab }: Table,
    by: 'group_id' | 'settlement_id',
  ): Promise<ReadonlyMap<string, readonly NetSum[]>> {
    const found = new Map<string, NetSum[]>();
    for (const row of await this.#database.rows(netSumsOfSettlements, { parameters: { tab, by } })) {
      const key = settlementKey(String(row['account']), String(row['id']));
      const [currency, net] = [textOrNull(row['currency']), textOrNull(row['net'])];
      const sum = { currency, net, inexact: Number(row['inexact']), unknown: Number(row['unknown']) };
      found.set(key, [...(found.get(key) ?? []), sum]);
    }
    return found;
  }

  /** The groups that have an event, by `settlementKey`: whether their events lack positions. */
  async groups(): Promise<ReadonlyMap<string, boolean>> {
    const rows = await this.#database.rows(groupPositions);
    return new Map(
      rows.map((row) => [settlementKey(String(row['account']), String(row['group_id'])), row['has_gaps'] === true]),
    );
  }

  /** The earliest event or transaction of each account that was read by date, milliseconds since 1970. */
  async oldest(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.rows(oldestByAccount);
    return new Map(rows.map((row) => [String(row['account']), Number(row['oldest'])]));
  }
}

/** The key of an account's settlement in a map. */
export function settlementKey(account: string, id: string): string {
  return JSON.stringify([account, id]);
}
