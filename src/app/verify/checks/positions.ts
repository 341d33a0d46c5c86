import { hasEvents } from '../../../core/columns/table.js';
import { rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import { loadKeyKindOf } from '../../coverage/stored-pipelines.js';
import type { CheckContext, CheckDefinition } from '../common/check.js';
import { fileOf, pathsOf, type TableFiles } from '../common/checked-files.js';

export const positionsCheck: CheckDefinition = {
  name: 'positions',
  about: 'no position within a slice occurs twice',
  counts: 'events',
  remedy: damagedFileRemedy,
  files: checkPositions,
};

const windowKeys = ['window_start', 'window_end'];
/** A file may hold the rows of several slices. */
const eventKeys = [...windowKeys, 'group_id', 'requested_order_id'];

async function checkPositions({ schema, files }: TableFiles, { database, certificate }: CheckContext): Promise<void> {
  const isCustom = schema.customPipeline !== undefined;
  if (loadKeyKindOf(schema) === undefined || !(isCustom || hasEvents(schema))) return;
  const keys = isCustom ? windowKeys : eventKeys;
  for (const { dataFile } of files) certificate.count(positionsCheck, dataFile.rows);
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
