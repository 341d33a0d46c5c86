import { rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { damagedFileRemedy } from '../../coverage/damaged-rows.js';
import { RowFaults } from '../common/certificate.js';
import type { StagedCheck, CheckContext, TableRows } from '../common/check.js';
import { Places } from '../common/money-places.js';
import { walkedOf } from '../common/money-walk.js';
import { rawColumnsFault, rawColumnsSql, recordRules, textsJson } from '../common/raw-column-rules.js';
import { fileOf, pathsOf } from '../common/readable-files.js';

export const rawColumnsCheck: StagedCheck = {
  name: 'raw-columns',
  about: 'columns of events, groups and payouts follow from raw',
  counts: 'rows',
  remedy: damagedFileRemedy,
  event: {
    count: ({ walked }) => (typeof walked === 'string' ? 0 : 1),
    fault: ({ eventId, list, rules, walked, columns }) => {
      const fault = typeof walked === 'string' ? undefined : rawColumnsFault(rules.columns, walked, columns, list);
      return fault && `${eventId} ${fault}`;
    },
  },
  rows: [{ appliesTo: ({ name }) => Object.hasOwn(recordRules, name), check: checkRecords }],
};

/** Compares `raw` with the columns of groups, payouts or settlement summaries: of files of one table. */
async function checkRecords({ files }: TableRows, { database, certificate }: CheckContext): Promise<void> {
  const table = files[0]?.file.table ?? '';
  const rules = recordRules[table];
  if (rules === undefined) return;
  const faults = new RowFaults('row');
  const places = new Places(rules.money.root);
  const values = textsJson(rawColumnsSql(rules.columns));
  const { chunks } = await database.query(
    `SELECT ${sourceColumn}, raw, ${values} FROM ${rowsWithSource(pathsOf(files))}`,
  );
  for await (const rows of chunks) {
    for (const [source, raw, texts] of rows) {
      certificate.count(rawColumnsCheck);
      const walked = walkedOf(String(raw), rules.money, () => places.root(table));
      const stored = JSON.parse(String(texts)) as readonly (string | null)[];
      const fault = typeof walked === 'string' ? walked : rawColumnsFault(rules.columns, walked, stored);
      faults.add(rawColumnsCheck, fileOf(files, source), fault);
    }
  }
  faults.addTo(certificate);
}
