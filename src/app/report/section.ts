import type { CellKind, ResultColumn, ResultRows } from '../../core/text/rows.js';
import type { Lake } from '../../lake/lake.js';
import type { LastRuns } from '../../lake/upkeep/last-run.js';
import type { AccountCoverage } from '../status/lake-status.js';
import type { BasisFigures } from './basis.js';
import type { CurrencyFigures } from './currency-figures.js';
import type { FigureReader } from './figure-reader.js';
import type { Html } from './html.js';
import type { SettlementFigures } from './settlements.js';

/**
 * A section of the report: what it reads, its HTML, what it says at the top of the page, and its table for other programs. A new
 * one is a file like `fees-section.ts` and a line in `sections.ts`.
 */
export interface Section {
  /** The end of its anchor in the page. */
  readonly anchor: string;
  readonly title: string;
  /** Its table in a workbook or a folder of CSV files: columns after `account` and `currency`. */
  readonly sheet?: { readonly name: string; readonly columns: readonly ResultColumn[] };
  /** Reads the figures that only this section shows, and returns what it shows of an account. */
  readonly read: (account: ReportedAccount) => Promise<SectionContent> | SectionContent;
}

/** What a section shows of an account. */
export interface SectionContent {
  /** Its part of a currency's chapter; undefined leaves it out. */
  readonly ofCurrency?: (chapter: CurrencyChapter) => Html | undefined;
  /** A chapter of its own after those of the currencies. */
  readonly ofAccount?: Html;
  /** What to check before trusting the figures: in one currency, and in the account; false: nothing. */
  readonly currencyConcerns?: (chapter: CurrencyChapter) => readonly (Html | false)[];
  readonly concerns?: readonly (Html | false)[];
  /** Rows of the sheet, each beginning with its currency. */
  readonly rows?: ResultRows;
}

/** An account of a report: the figures that several sections show, and what a section needs to read others. */
export interface ReportedAccount {
  readonly account: string;
  /** Its anchor in the page. */
  readonly id: string;
  readonly report: ReportFacts;
  readonly rows: FigureReader;
  /** Coverage and the reported range. */
  readonly status: AccountCoverage;
  readonly basis: BasisFigures;
  /** All settlements, the newest first. */
  readonly settlements: readonly SettlementFigures[];
  /** A chapter for each currency. */
  readonly chapters: readonly CurrencyChapter[];
}

/** What all accounts of a report share. */
export interface ReportFacts {
  readonly lake: Lake;
  /** The lake's location as given by the user. */
  readonly location: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly lastRuns: LastRuns;
  /** Whether the report covers a part of the lake's data only. */
  readonly isPartial: boolean;
  /** Whether to include the tables, which have all fees and SKUs. */
  readonly isExport: boolean;
  /** In which months begin and end. */
  readonly timeZone: string;
}

/** The figures of one currency of an account. */
export interface CurrencyChapter {
  /** Anchor in the page. */
  readonly id: string;
  readonly currency: string;
  /** Undefined where the currency occurs in settlements alone. */
  readonly figures: CurrencyFigures | undefined;
  readonly settlements: readonly SettlementFigures[];
}

/** The columns of a sheet by name. */
export function sheetColumns(kinds: Readonly<Record<string, CellKind | 'amount'>>): readonly ResultColumn[] {
  return Object.entries(kinds).map(([name, kind]) =>
    kind === 'amount' ? { name, kind: 'number', isAmount: true } : { name, kind },
  );
}
