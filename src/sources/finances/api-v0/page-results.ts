import type { Operation } from './operations.js';
import { eachEvent, eachGroup, type ScannedPage } from './finances-page.js';

/**
 * Calls back with every result of a page: its events with the names of their lists, or its groups, whose list is empty.
 *
 * @throws LedgerlakeError UPSTREAM_BODY where the results aren't what the model says
 */
export function eachResult(
  page: ScannedPage,
  result: Operation['result'],
  take: (list: string, node: number) => void,
): void {
  if (result === 'FinancialEvents') eachEvent(page, take);
  else {
    eachGroup(page, (group) => {
      take('', group);
    });
  }
}

/** How many results a page holds. */
export function resultsOf(page: ScannedPage, result: Operation['result']): number {
  let results = 0;
  eachResult(page, result, () => results++);
  return results;
}
