import { count } from '../../../core/count.js';
import type { Table } from '../../../core/columns/table.js';
import type { Database } from '../../../core/duckdb/connection.js';
import type { LakeRuns } from '../../../lake/leases.js';
import type { Lake } from '../../../lake/lake.js';
import type { UnfinishedRange } from '../../coverage/unfinished-ranges.js';
import type { CatalogVersion } from '../../results.js';
import type { Settlement, UnreadableFile } from '../../settlements/settlements.js';
import type { CertificateBuilder, CheckDefinition, ProblemLocation } from './certificate.js';
import type { EventRules } from './event-rules.js';
import type { IndexTables } from './index-tables.js';
import type { LogFile } from './log-files.js';
import type { EntryRow, Walked } from './money-walk.js';
import type { ReadableFile } from './readable-files.js';

/**
 * A check of `verify`, with what it does at each stage. Where one read proves several things, the stage of one check finds problems
 * of the others too.
 */
export interface StagedCheck extends CheckDefinition {
  /** Before files are read: the catalog and what it names. */
  readonly catalog?: (context: CatalogContext) => Promise<void> | void;
  /** The rows of files of one table and account. Where DuckDB can't read them, they are unreadable. */
  readonly files?: TableCheck<readonly ReadableFile[]>;
  /** The rows of files of one table and account that could be read. */
  readonly rows?: readonly TableCheck<TableRows>[];
  /** Each event with its entries. */
  readonly event?: EventCheck;
  /** At the end: what files have is compared. */
  readonly across?: (comparison: Comparison) => Promise<void> | void;
}

/** What a check does with rows of the tables to which it applies. */
interface TableCheck<Rows> {
  readonly appliesTo: (table: Table) => boolean;
  readonly check: (rows: Rows, context: CheckContext) => Promise<void>;
}

/** Rows of a table, all of one account, that DuckDB can read as the table. */
export interface TableRows {
  readonly files: readonly ReadableFile[];
  /** Of a main table: those of which each file can be read. */
  readonly bundles: readonly ReadableBundle[];
}

/** The files of a bundle that DuckDB can read: an event's entries are in the derived files of its own bundle. */
export interface ReadableBundle {
  readonly main: ReadableFile;
  readonly derived: readonly ReadableFile[];
}

interface EventCheck {
  /** How much of what the check counts an event has. */
  readonly count: (event: ReadEvent) => number;
  /** What is wrong with the event, or undefined. */
  readonly fault: (event: ReadEvent) => string | undefined;
}

/** An event as it is stored, with its entries and with what follows from `raw`. */
export interface ReadEvent {
  readonly eventId: string;
  readonly contentHash: string;
  readonly list: string;
  readonly isDated: boolean;
  /** Milliseconds since 1970. */
  readonly windowStart: number | null;
  readonly windowEnd: number | null;
  readonly groupId: string | null;
  readonly requestedOrderId: string | null;
  /** The values of the columns that follow from `raw`, as `rawColumnsSql` names them. */
  readonly columns: readonly (string | null)[];
  readonly raw: string;
  readonly file: LogFile;
  readonly rules: EventRules;
  /** The money of `raw`; a text says why it can't be read. */
  readonly walked: Walked | string;
  /** Whether the entries are those that follow from `raw`. */
  readonly isProved: boolean;
  /** None where they are proved. */
  readonly entries: readonly EntryRow[];
  /** Number of its entries. */
  readonly amounts: number;
}

/** Where the catalog is checked. */
export interface CatalogContext {
  readonly lake: Lake;
  /** Undefined: every account. */
  readonly account: string | undefined;
  readonly accounts: readonly string[];
  readonly files: readonly LogFile[];
  readonly runs: LakeRuns;
  /** What runs requested and didn't load. */
  readonly unfinished: readonly UnfinishedRange[];
  /** A version that the catalog must have, as a user kept it. */
  readonly expected: CatalogVersion | undefined;
  readonly certificate: CertificateBuilder;
}

/** Where the rows of tables are checked. */
export interface CheckContext {
  readonly lake: Lake;
  readonly certificate: CertificateBuilder;
  readonly database: Database;
  readonly index: IndexTables;
  readonly contents: ComparedContents;
}

/** What files have that is compared with others. */
export interface ComparedContents {
  readonly settlements: Settlement[];
  readonly summaries: SettlementTotal[];
  readonly reports: SettlementTotal[];
  /** The files of accounts with settlement reports that these are compared with; they stay until the end. */
  readonly files: ReadableFile[];
  /** Files whose rows can't be compared with others. */
  readonly damaged: UnreadableFile[];
  /** Number of amounts that no sum has, by table, then by currency. */
  readonly unsummed: Map<string, Map<string, number>>;
}

/** Counts amounts that DECIMAL(18,6) can't hold, and that no sum has. */
export function countUnsummed({ unsummed }: ComparedContents, table: string, currency: string, times = 1): void {
  const currencies = unsummed.get(table) ?? new Map<string, number>();
  count(currencies, currency, times);
  unsummed.set(table, currencies);
}

/** The total of a settlement: of its report, or of its summary. */
export interface SettlementTotal extends ProblemLocation {
  readonly account: string;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly start: number | null;
  readonly end: number | null;
  /** Decimal text; of a summary: the net proceeds. */
  readonly total: string | null;
  readonly currency: string | null;
}

/** What `forget --before` has removed of accounts, and no run has read again since. */
export interface Forgotten {
  /** Whether a period began where rows were forgotten, and before all that the lake has of the account by date. */
  reaches(period: Pick<Settlement, 'account' | 'start'>): boolean;
  /** Whether a settlement that was read by group lacks events: positions count from 0 without a gap. */
  lacksEvents(settlement: Settlement): boolean;
}

/** All files of a lake, for checks that compare them. */
export interface Comparison extends Omit<CheckContext, 'contents'>, ComparedContents {
  readonly accounts: readonly string[];
  readonly forgotten: Forgotten;
  /** The settlements whose events of v0 are all there. */
  readonly loaded: readonly Settlement[];
}

/** Whether a table's rows are events that have entries. */
export function hasEntries({ holds }: Table): boolean {
  return holds === 'events';
}

/** Whether a table is the one. */
export function isTable(one: Table): (table: Table) => boolean {
  return ({ name }) => name === one.name;
}

/** The files with the entries of events. */
export function derivedOf({ bundles }: TableRows): readonly ReadableFile[] {
  return bundles.flatMap(({ derived }) => derived);
}
