import type { ColumnMemory } from '../../columns/memory.js';
import type { ByteBuffer } from './byte-buffer.js';
import type { RowNulls } from './column-values.js';
import { writeRun } from './rle.js';

/** Runs of rows that share a value or are null, split at the ends of row groups and pages. */
interface RowRuns {
  /** Length of each run in rows. */
  readonly lengths: Int32Array;
  /** The number of each run's value among the non-null ones; -1 for null. */
  readonly values: Int32Array;
  readonly count: number;
}

/** The runs, from `first` to before `last`, that overlap the rows from `start` to before `end`. */
export function runsWithin(
  runEnds: Int32Array,
  start: number,
  end: number,
): { readonly first: number; readonly last: number } {
  let first = 0;
  while (first < runEnds.length && (runEnds[first] ?? 0) <= start) first++;
  let last = first;
  for (let row = start; last < runEnds.length && row < end; last++) row = runEnds[last] ?? 0;
  return { first, last };
}

/** Splits the rows of runs from `start` to before `end` at every `pageRows` rows. */
export function cutRuns(
  runEnds: Int32Array,
  nulls: RowNulls | undefined,
  { start, end, pageRows }: { readonly start: number; readonly end: number; readonly pageRows: number },
  memory: ColumnMemory,
): RowRuns {
  const most = runEnds.length + Math.ceil((end - start) / pageRows);
  const lengths = memory.int32s(most);
  const values = memory.int32s(most);
  let count = 0;
  let value = 0;
  let row = start;
  for (let run = 0; run < runEnds.length; run++) {
    const number = nulls?.isPresent[run] === 0 ? -1 : value++;
    const runEnd = Math.min(runEnds[run] ?? 0, end);
    while (row < runEnd) {
      const length = Math.min(runEnd - row, pageRows - ((row - start) % pageRows));
      lengths[count] = length;
      values[count++] = number;
      row += length;
    }
  }
  return { lengths, values, count };
}

/** The runs of a page. */
interface PageRuns extends RowRuns {
  /** The page has the runs from `from` to before `to`. */
  readonly from: number;
  readonly to: number;
}

/** The pages of runs, which `cutRuns` split at every `pageRows` rows. */
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

/** Writes the definition levels of a page's rows. */
export function writeRunLevels(to: ByteBuffer, { lengths, values, from, to: end }: PageRuns): void {
  for (let run = from; run < end;) {
    const isThere = (values[run] ?? -1) >= 0;
    let rows = 0;
    while (run < end && (values[run] ?? -1) >= 0 === isThere) rows += lengths[run++] ?? 0;
    writeRun(to, isThere ? 1 : 0, rows, 1);
  }
}

/** Writes the dictionary numbers of a page's values; `numbers` has the number of each value. */
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
