import type { EmulatorOptions } from '../../emulator/emulator.js';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/core/clock.js';
import { openServedLake } from '../../../src/cli/serve/serve-lake.js';
import type { LedgerItem, LedgerPage, LedgerQuery } from '../../../src/serve/operation/ledger-page.js';
import type { LakeLedger } from '../../../src/serve/served-apis.js';
import { serving } from '../../app/lake-run.js';

/** A lake as a ledger, until the test is over. */
export async function lakeLedger(lake: string, clock: Clock, account?: string): Promise<LakeLedger> {
  const { ledger } = await openServedLake(lake, account, clock, () => undefined);
  onTestFinished(() => {
    ledger.close();
  });
  return ledger;
}

/** A lake behind a service of its own, until the test is over; its address. */
export async function servingLake(lake: string, clock: Clock, options: Partial<EmulatorOptions> = {}): Promise<string> {
  return serving({ ledger: await lakeLedger(lake, clock), clock, ...options });
}

/** All pages of a question, each of `size` items; the last of `sizes` for all that follow. */
export async function allPages(
  ask: (query: LedgerQuery) => Promise<LedgerPage | undefined>,
  asOf: number,
  sizes: readonly number[] = [100],
): Promise<(readonly LedgerItem[])[]> {
  const pages: (readonly LedgerItem[])[] = [];
  for (let cursor: string | undefined, turn = 0; turn === 0 || cursor !== undefined; turn++) {
    const limit = sizes[Math.min(turn, sizes.length - 1)] ?? 100;
    const page = await ask({ cursor, limit, asOf });
    if (page === undefined) throw new Error('there is no such resource');
    pages.push(page.items);
    cursor = page.next;
  }
  return pages;
}

/** Items as texts in an order of their own: a multiset to compare. */
export function sorted(items: readonly LedgerItem[]): string[] {
  return items.map(({ list, json }) => `${list} ${json}`).sort();
}
