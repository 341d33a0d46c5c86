import { openDatabase, type Database } from '../../core/duckdb/connection.js';
import { lakeTables, sliceAt } from '../query/lake-files.js';
import { fileFault, lostFile } from '../../core/duckdb/lost-file.js';
import { createViews } from '../../core/duckdb/views.js';
import type { Lake } from '../../lake/lake.js';
import { readLastRun, type LastRun } from '../../lake/upkeep/last-run.js';
import type { Window } from '../../core/windows.js';
import { accountStatus, loadedRange, type AccountStatus } from '../status/lake-status.js';
import { reportedRange } from '../status/reported-range.js';
import { readFigures, type CurrencyFigures } from './figures.js';
import { readLate, type LateFigures } from './late-section.js';
import { readWarningFigures, type WarningFigures } from './warnings-section.js';
import { readSettlements, type SettlementFigures } from './settlement-figures.js';

export interface FiguresQuestion {
  readonly lake: Lake;
  /** The lake as the user wrote it. */
  readonly location: string;
  /** Undefined: every account. */
  readonly account: string | undefined;
  /** ISO 8601; undefined: all that the lake holds. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly signal: AbortSignal | undefined;
}

/** All that a report tells of one account. */
export interface AccountFigures {
  readonly account: string;
  /** Coverage, and the range that it is told of. */
  readonly status: AccountStatus;
  readonly currencies: readonly CurrencyFigures[];
  readonly settlements: readonly SettlementFigures[];
  readonly late: LateFigures;
  readonly warnings: WarningFigures;
}

/** What a report is made of. */
export interface LakeFigures {
  readonly accounts: readonly AccountFigures[];
  readonly lastRun: LastRun | undefined;
}

/** Memory for DuckDB; what is more goes to temporary files. */
const memoryLimit = '1GB';
/** Settlements whose entries are told, over all accounts and currencies. */
const detailed = 300;
/** Times that the figures are read when runs replace files meanwhile. */
const mostAttempts = 3;

/**
 * Reads the figures of a lake at its newest version. Where a run replaces files while they are read, all of it is read
 * again, so that the figures belong together.
 *
 * @throws LedgerlakeError USAGE for a range that is none, LAKE_STORE and LAKE_LOG where the lake can't be read, SQL where a
 * file of it can't be, STOPPED when the signal aborts
 */
export async function readLakeFigures(question: FiguresQuestion): Promise<LakeFigures> {
  const { lake, signal } = question;
  for (let attempt = 1; ; attempt++) {
    const database = await openDatabase({
      folders: [lake.store.address('')],
      settings: { memory_limit: memoryLimit },
    });
    try {
      await createViews(database, lakeTables, lake.committedFiles(), signal);
      return await figuresOf(database, question);
    } catch (error) {
      if (attempt === mostAttempts || !lostFile(error)) throw fileFault(error, (address) => sliceAt(lake, address));
      await lake.refresh();
    } finally {
      database.close();
    }
  }
}

async function figuresOf(database: Database, question: FiguresQuestion): Promise<LakeFigures> {
  const { lake, location, now, signal } = question;
  const lastRun = await readLastRun(lake.store);
  const names = [...lake.accounts()].filter((name) => question.account === undefined || name === question.account);
  const accounts: AccountFigures[] = [];
  for (const account of names.toSorted()) {
    const range = reportedRange(question, loadedRange(lake, account), now);
    const scope = { account, ...boundsOf(question, range) };
    const share = Math.floor(detailed / names.length);
    accounts.push({
      account,
      status: accountStatus({ lake, location, account, range, lastRun }),
      currencies: await readFigures(database, scope, signal),
      settlements: await readSettlements(database, { lake, scope, detailed: share, signal }),
      late: await readLate(database, scope, signal),
      warnings: await readWarningFigures(database, scope, signal),
    });
  }
  return { accounts, lastRun };
}

/** The bounds that were asked for: without any, whatever the lake holds is told of. */
function boundsOf({ from, to }: FiguresQuestion, range: Window): { from: number | undefined; to: number | undefined } {
  return { from: from === undefined ? undefined : range.start, to: to === undefined ? undefined : range.end };
}
