import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import type { Lake } from '../../lake/lake.js';
import { readLakeFigures } from './lake-figures.js';
import { reportHtml } from './page.js';

export interface ReportQuestion {
  readonly lake: Lake;
  /** The lake as the user wrote it. */
  readonly location: string;
  /** Undefined: every account that the lake holds, one after the other. */
  readonly account: string | undefined;
  /** ISO 8601; undefined: all that the lake holds. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

export interface Report {
  readonly html: string;
  readonly accounts: readonly string[];
  /** Currencies of the accounts, one by one. */
  readonly currencies: number;
  readonly settlements: number;
  /** Closed settlements that don't add up. */
  readonly differing: number;
}

/**
 * A report of a lake as of now: one HTML document without a script, and without a request to anywhere. Nothing of it grows
 * with the rows of the lake, but for what is listed by month, day or settlement, which has bounds. The lake is as new as it
 * was when it was opened or refreshed last.
 *
 * @throws LedgerlakeError USAGE for an account that the lake doesn't hold, while it holds others, and for a range that is
 * none; LAKE_STORE, LAKE_LOG and SQL where the lake can't be read; STOPPED when the signal aborts
 */
export async function lakeReport(question: ReportQuestion): Promise<Report> {
  const { lake, location, account, from, to, clock, signal } = question;
  const held = [...lake.accounts()].toSorted();
  if (account !== undefined && held.length > 0 && !held.includes(account)) {
    throw usageError(`expected --account to be one that ${location} holds (${held.join(', ')}), got ${account}`);
  }
  const now = clock.now();
  const figures = await readLakeFigures({ lake, location, account, from, to, now, signal });
  const settlements = figures.accounts.flatMap((of) => of.settlements);
  return {
    html: reportHtml(figures, { location, now, isPart: from !== undefined || to !== undefined }),
    accounts: figures.accounts.map((of) => of.account),
    currencies: figures.accounts.reduce((sum, of) => sum + of.currencies.length, 0),
    settlements: settlements.length,
    differing: settlements.filter(({ verdict }) => verdict === 'differs').length,
  };
}
