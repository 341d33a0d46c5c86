import { formatCount } from '../core/text/amounts.js';
import type { DataFile } from '../lake/delta/data-file.js';

/** The column that has the amounts which DECIMAL(18,6) cannot hold, and which no sum has. */
export const unsummedColumn = 'amount_text';

/**
 * The number of a file's amounts that no sum has, from the statistics in the log; 0 where they don't say, as those of earlier
 * program versions.
 *
 * @throws LedgerlakeError LAKE_LOG for statistics that aren't JSON
 */
export function unsummedIn({ statistics, rows }: DataFile): number {
  const nulls = statistics.nullCount[unsummedColumn];
  return typeof nulls === 'number' ? rows - nulls : 0;
}

/** `3 amounts are in no sum, because DECIMAL(18,6) cannot hold them`. */
export function unsummedText(count: number): string {
  const [are, them] = count === 1 ? ['is', 'it'] : ['are', 'them'];
  return `${formatCount(count, 'amount')} ${are} in no sum, because DECIMAL(18,6) cannot hold ${them}`;
}
