import { rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import type { CheckContext, CheckDefinition } from '../common/check.js';
import { fileOf, pathsOf, type TableFiles } from '../common/checked-files.js';
import { Places, walkedOf } from '../common/money-walk.js';
import { rawColumnsFault, rawColumnsSql, recordRules, textsJson } from '../common/raw-column-rules.js';

export const rawColumnsCheck: CheckDefinition = {
  name: 'raw-columns',
  about: 'columns of events, groups and payouts follow from raw',
  counts: 'rows',
  remedy: damagedFileRemedy,
  files: checkRecords,
  event: ({ eventId, file, list, rules, walked, columns }, { certificate }) => {
    if (typeof walked === 'string') return;
    certificate.count(rawColumnsCheck);
    const fault = rawColumnsFault(rules.columns, walked, columns, list);
    certificate.addRow(rawColumnsCheck, file, 'event', fault && `${eventId} ${fault}`);
  },
};

/** Compares `raw` with the columns of groups, payouts or settlement summaries: of files of one table. */
async function checkRecords({ schema, files }: TableFiles, { database, certificate }: CheckContext): Promise<void> {
  const rules = Object.hasOwn(recordRules, schema.name) ? recordRules[schema.name] : undefined;
  if (rules === undefined) return;
  const places = new Places(rules.money.root);
  const values = textsJson(rawColumnsSql(rules.columns));
  const { chunks } = await database.query(
    `SELECT ${sourceColumn}, raw, ${values} FROM ${rowsWithSource(pathsOf(files))}`,
  );
  for await (const rows of chunks) {
    for (const [source, raw, texts] of rows) {
      certificate.count(rawColumnsCheck);
      const walked = walkedOf(String(raw), rules.money, () => places.root(schema.name));
      const stored = JSON.parse(String(texts)) as readonly (string | null)[];
      const fault = typeof walked === 'string' ? walked : rawColumnsFault(rules.columns, walked, stored);
      certificate.addRow(rawColumnsCheck, fileOf(files, source), 'row', fault);
    }
  }
}
