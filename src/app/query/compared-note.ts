import type { Lake } from '../../lake/lake.js';
import { comparedText, comparedWindows, type ComparedDays } from '../verify/checks/compared-days.js';
import { byDate, byTransaction } from '../verify/checks/main-tables.js';
import { storedWindows, withoutTexts } from './left-out-days.js';

/** Undefined where both are loaded for the same days, or neither is at all; less than a day does not count. */
export function comparedDays(lake: Lake, account: string): ComparedDays | undefined {
  return comparedWindows(account, storedWindows(lake, byDate, account), storedWindows(lake, byTransaction, account));
}

/** What is to be said of a statement that reads `api_differences`; undefined where both services are loaded for the same days. */
export function comparedNote(statement: string, lake: Lake): string | undefined {
  if (!/\bapi_differences\b/i.test(withoutTexts(statement))) return undefined;
  const [first, ...others] = [...lake.accounts()].toSorted().flatMap((account) => comparedDays(lake, account) ?? []);
  if (first === undefined) return undefined;
  const more =
    others.length === 0 ? '' : `; other days are missing of ${others.map(({ account }) => account).join(', ')}`;
  return `WARNING: ${comparedText(first)}${more}`;
}
