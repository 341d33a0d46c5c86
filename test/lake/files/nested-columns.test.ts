import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { footerFault } from '../../../src/lake/files/footer-fault.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { deepFooters } from '../../core/parquet/hostile-files.js';

test('groups in groups of columns without end are named before DuckDB reads them', async () => {
  const deep = deepFooters().find(({ name }) => name === 'groups in groups');
  const path = join(await temporaryFolder(), 'deep.parquet');
  await writeFile(path, deep?.bytes ?? '');
  expect(await footerFault(path, [])).toBe('it has nested columns, which no table has');
});
