import type { Lake } from '../../../lake/lake.js';
import type { Settlement, UnreadableFile } from '../../settlements/settlements.js';
import type { CheckContext, ProblemLocation } from './certificate.js';
import type { ReadableFile } from './file-contents.js';
import type { IndexTables } from './index-tables.js';

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

/** What files have that is compared with others. */
export interface ComparedContents {
  readonly settlements: Settlement[];
  readonly summaries: SettlementTotal[];
  readonly reports: SettlementTotal[];
  /** The files of accounts with settlement reports that these are compared with; they stay until the end. */
  readonly files: ReadableFile[];
  /** Files whose rows can't be compared with others. */
  readonly damaged: UnreadableFile[];
}

/** Where the contents of files are collected. */
export interface CollectingContext extends CheckContext {
  readonly contents: ComparedContents;
}

/** All files of a lake for checks that compare them. */
export interface Comparison extends ComparedContents {
  readonly lake: Lake;
  readonly accounts: readonly string[];
  readonly index: IndexTables;
  readonly forgotten: Forgotten;
  /** The settlements whose events of v0 are all there. */
  readonly loaded: readonly Settlement[];
}
