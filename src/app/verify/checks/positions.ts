import { rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import { loadKeyKindOf } from '../../coverage/stored-pipelines.js';
import { hasEntries, type StagedCheck, type CheckContext } from '../common/check.js';
import { fileOf, pathsOf, type ReadableFile } from '../common/readable-files.js';

export const positionsCheck: StagedCheck = {
  name: 'positions',
  about: 'no position within a slice occurs twice',
  counts: 'events',
  remedy: damagedFileRemedy,
  files: {
    appliesTo: (table) =>
      loadKeyKindOf(table) !== undefined && (hasEntries(table) || table.customPipeline !== undefined),
    check: async (files, context) => {
      const schema = files[0]?.file.delta.schema;
      await checkPositions(files, schema?.customPipeline === undefined ? eventKeys : windowKeys, context);
    },
  },
};

const windowKeys = ['window_start', 'window_end'];
/** A file may hold the rows of several slices. */
const eventKeys = [...windowKeys, 'group_id', 'requested_order_id'];

async function checkPositions(
  files: readonly ReadableFile[],
  keys: readonly string[],
  { database, certificate }: CheckContext,
): Promise<void> {
  for (const { file } of files) certificate.count(positionsCheck, file.rows);
  const twice =
    `SELECT ${sourceColumn} AS source, position FROM ${rowsWithSource(pathsOf(files))} ` +
    `GROUP BY ${sourceColumn}, ${keys.join(', ')}, position HAVING count(*) > 1 OR position IS NULL OR position < 0`;
  const rows = await database.rows(
    `SELECT source, count(*) AS found, min(position) AS first FROM (${twice}) GROUP BY source ORDER BY source`,
  );
  for (const { source, found, first } of rows) {
    const text = `${String(found)} positions of a slice are missing or occur twice, such as ${String(first)}`;
    certificate.add(positionsCheck, 'lake', fileOf(files, source), text);
  }
}
