import type { ColumnMemory } from '../../columns/memory.js';
import type { ByteBuffer } from './byte-buffer.js';
import type { RowNulls } from './column-values.js';
import { writeRun } from './rle.js';

/** Runs of rows that share a value, or are null, cut where row groups and pages end. */
export interface RowRuns {
  /** Rows of each. */
  readonly lengths: Int32Array;
  /** Which of the values that aren't null each one is; -1 where it is null. */
  readonly values: Int32Array;
  readonly count: number;
}

/** The runs that have some of the rows from `start` to before `end`: numbers of the first one and of that behind the last. */
export function runsWithin(
  lengths: Int32Array,
  start: number,
  end: number,
): { readonly first: number; readonly last: number; readonly skipped: number } {
  let first = 0;
  let row = 0;
  while (first < lengths.length && row + (lengths[first] ?? 0) <= start) row += lengths[first++] ?? 0;
  const skipped = start - row;
  let last = first;
  while (last < lengths.length && row < end) row += lengths[last++] ?? 0;
  return { first, last, skipped };
}

/**
 * Cuts runs at every `pageRows` rows.
 *
 * @param skipped rows of the first run that lie before the ones in question, which are `rows`
 */
export function cutRuns(
  lengths: Int32Array,
  nulls: RowNulls | undefined,
  { skipped, rows, pageRows }: { readonly skipped: number; readonly rows: number; readonly pageRows: number },
  memory: ColumnMemory,
): RowRuns {
  const most = lengths.length + Math.ceil(rows / pageRows);
  const into = memory.int32s(most);
  const values = memory.int32s(most);
  let count = 0;
  let value = 0;
  let row = 0;
  for (let run = 0; run < lengths.length; run++) {
    const number = nulls?.isPresent[run] === 0 ? -1 : value++;
    let left = Math.min((lengths[run] ?? 0) - (run === 0 ? skipped : 0), rows - row);
    while (left > 0) {
      const length = Math.min(left, pageRows - (row % pageRows));
      into[count] = length;
      values[count++] = number;
      row += length;
      left -= length;
    }
  }
  return { lengths: into, values, count };
}

/** Some runs, as a page has them. */
export interface PageRuns extends RowRuns {
  /** Number of the first run, and of that behind the last one. */
  readonly from: number;
  readonly to: number;
}

/** Where pages of runs begin and end: at every `pageRows` rows, where the runs were cut. */
export function* cutRunPages(runs: RowRuns, pageRows: number) {
  let from = 0;
  for (let firstRow = 0; from < runs.count;) {
    let rows = 0;
    let nulls = 0;
    let first = -1;
    let last = -1;
    let to = from;
    for (; to < runs.count && rows < pageRows; to++) {
      const length = runs.lengths[to] ?? 0;
      const value = runs.values[to] ?? -1;
      rows += length;
      if (value < 0) nulls += length;
      else {
        if (first < 0) first = value;
        last = value;
      }
    }
    const page: PageRuns = { ...runs, from, to };
    yield { firstRow, rows, nulls, first: Math.max(0, first), last: last + 1, runs: page };
    firstRow += rows;
    from = to;
  }
}

/** Writes which rows of a page have a value. */
export function writeRunLevels(to: ByteBuffer, { lengths, values, from, to: end }: PageRuns): void {
  for (let run = from; run < end;) {
    const isThere = (values[run] ?? -1) >= 0;
    let rows = 0;
    while (run < end && (values[run] ?? -1) >= 0 === isThere) rows += lengths[run++] ?? 0;
    writeRun(to, isThere ? 1 : 0, rows, 1);
  }
}

/** Writes the numbers of a page's values: `numbers` has that of each. */
export function writeRunNumbers(
  to: ByteBuffer,
  { lengths, values, from, to: end }: PageRuns,
  numbers: Int32Array,
  width: number,
): void {
  let last = -1;
  let rows = 0;
  for (let run = from; run < end; run++) {
    const value = values[run] ?? -1;
    if (value < 0) continue;
    const number = numbers[value] ?? 0;
    if (number !== last && rows > 0) {
      writeRun(to, last, rows, width);
      rows = 0;
    }
    last = number;
    rows += lengths[run] ?? 0;
  }
  if (rows > 0) writeRun(to, last, rows, width);
}
