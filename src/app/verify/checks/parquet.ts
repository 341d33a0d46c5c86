import { sqlType } from '../../../core/columns/table.js';
import { LedgerlakeError } from '../../../core/errors.js';
import { misfitIn } from '../../../lake/files/local-parquet.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import type { CheckDefinition } from '../common/check.js';
import { pathsOf } from '../common/checked-files.js';

/** Also found where another check can't read a file. */
export const parquetCheck: CheckDefinition = {
  name: 'parquet',
  about: 'each file can be read as its table',
  counts: 'files',
  remedy: damagedFileRemedy,
  files: async ({ schema, files }, { database, certificate }) => {
    certificate.count(parquetCheck, files.length);
    const misfit = await misfitIn(database, schema, pathsOf(files));
    if (misfit === undefined) return;
    const { column, found = 'none' } = misfit;
    throw new LedgerlakeError('SQL', `expected the column ${column.name} as ${sqlType(column)}, found ${found}`);
  },
};
