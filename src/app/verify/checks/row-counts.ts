import type { CheckDefinition } from '../common/check.js';

/** Found by `statistics`, whose statement counts the rows. */
export const rowCountsCheck: CheckDefinition = {
  name: 'row-counts',
  about: 'each file has the number of rows of the log',
  counts: 'rows',
  takenOut: 'file',
  verdict: 'row',
};
