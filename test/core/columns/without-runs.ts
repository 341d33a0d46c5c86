import type { RecordBatch } from 'apache-arrow';
import { columnData } from '../../../src/core/columns/column-data.js';
import { expandedRuns } from '../../../src/core/columns/run-end-encoded.js';
import { recordBatch, type Table } from '../../../src/core/columns/table.js';

/** The batch with a value for each row in all of its columns. */
export function withoutRuns(table: Table, batch: RecordBatch): RecordBatch {
  const arrays = table.columns.flatMap(({ name }) => {
    const data = columnData(batch, name);
    return data === undefined ? [] : [[name, expandedRuns(data)] as const];
  });
  return recordBatch(table, batch.numRows, Object.fromEntries(arrays));
}
