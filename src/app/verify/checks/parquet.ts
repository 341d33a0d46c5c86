import { sqlType } from '../../../core/columns/table.js';
import { LedgerlakeError } from '../../../core/errors.js';
import { misfitIn } from '../../../lake/files/local-parquet.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import type { StagedCheck } from '../common/check.js';
import { pathsOf } from '../common/readable-files.js';

/** Also found where another check can't read a file. */
export const parquetCheck: StagedCheck = {
  name: 'parquet',
  about: 'each file can be read as its table',
  counts: 'files',
  remedy: damagedFileRemedy,
  files: {
    appliesTo: () => true,
    check: async (files, { database }) => {
      const [first] = files;
      const misfit = first && (await misfitIn(database, first.file.delta.schema, pathsOf(files)));
      if (misfit === undefined) return;
      const { column, found = 'none' } = misfit;
      throw new LedgerlakeError('SQL', `expected the column ${column.name} as ${sqlType(column)}, found ${found}`);
    },
  },
};
