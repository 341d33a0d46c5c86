import { parseInstant } from '../../../core/numeric/iso-instant.js';
import { operations, type Operation, type OperationName } from './operations.js';
import { eachResult } from './page-results.js';
import type { ScannedPage } from './finances-page.js';

/** What a page holds, for comparing it with another one: nothing of it is decoded but the dates. */
export interface Contents {
  /** One text for each result, in order: its list and its bytes. Equal texts are equal results. */
  readonly results: readonly string[];
  /** Those of the results whose place in time can't be told. */
  readonly undated: readonly string[];
  /** The first and the last of the other results' dates: whole milliseconds since 1970, rounded down. */
  readonly earliest: number | undefined;
  readonly latest: number | undefined;
}

/**
 * Members that tell when a result was posted, or a group was opened. `TransactionCreationDate` isn't among them: nobody
 * says that it is what the service orders by.
 */
const dateMembers: Readonly<Record<Operation['result'], readonly string[]>> = {
  FinancialEvents: ['PostedDate', 'postedDate', 'TransactionPostedDate'],
  FinancialEventGroupList: ['FinancialEventGroupStart'],
};

/** What one page of an operation holds. */
export function contentsOf(page: ScannedPage, name: OperationName): Contents {
  const { result } = operations[name];
  const results: string[] = [];
  const undated: string[] = [];
  let earliest: number | undefined;
  let latest: number | undefined;
  eachResult(page, result, (list, node) => {
    // The name as JSON: no two pairs of name and text give the same result.
    const text = `${JSON.stringify(list)}${page.tape.text(node)}`;
    results.push(text);
    const date = dateOf(page, node, dateMembers[result]);
    if (date === undefined) undated.push(text);
    else {
      earliest = Math.min(date, earliest ?? date);
      latest = Math.max(date, latest ?? date);
    }
  });
  return { results, undated, earliest, latest };
}

function dateOf({ tape }: ScannedPage, node: number, members: readonly string[]): number | undefined {
  const dates = members.flatMap((name) => {
    const value = tape.member(node, name);
    return value === undefined ? [] : [tape.isString(value) ? parseInstant(tape.stringValue(value)) : undefined];
  });
  // Two dates that differ, or one that can't be read, tell no place.
  return dates.every((date) => date === dates[0]) ? dates[0] : undefined;
}
