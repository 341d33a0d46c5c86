import { statementOver } from '../../../core/duckdb/sql-statements.js';
import { hasEvents } from '../../../core/columns/table.js';
import { groupBy } from '../../../core/group-by.js';
import { ifReadable } from '../../../lake/delta/data-file.js';
import { rowsWithSource } from '../../../lake/files/local-parquet.js';
import { derivedRowsRemedy } from '../../coverage/damaged-rows.js';
import type { CheckContext, CheckDefinition } from '../common/check.js';
import { derivedOf, pathsOf, type TableFiles } from '../common/checked-files.js';
import netSumsOfFiles from '../statements/net-sums-of-files.sql';

export const netSumsCheck: CheckDefinition = {
  name: 'net-sums',
  about: 'net sums in the log equal the rows',
  counts: 'files',
  remedy: derivedRowsRemedy,
  files: checkNetSums,
};

const zero = '0.000000';

/** Compares the net sums in the log's tags of files of entries with their rows. */
async function checkNetSums({ schema, bundles }: TableFiles, { database, certificate }: CheckContext): Promise<void> {
  const files = hasEvents(schema) ? derivedOf(bundles) : [];
  if (files.length === 0) return;
  certificate.count(netSumsCheck, files.length);
  const sumsOfFiles = await database.rows(
    statementOver({ read_entries: `FROM ${rowsWithSource(pathsOf(files))}` }, netSumsOfFiles),
  );
  const netsOf = groupBy(sumsOfFiles, ({ source }) => Number(source));
  for (const [source, file] of files.entries()) {
    const sums = netsOf.get(source)?.map(({ currency, net }) => [String(currency), String(net)]) ?? [];
    const found = Object.fromEntries(sums) as Readonly<Record<string, string>>;
    const expected = ifReadable(() => file.dataFile.net) ?? {};
    const texts = Object.keys({ ...found, ...expected }).flatMap((currency) => {
      const [log, net] = [expected[currency] ?? zero, found[currency] ?? zero];
      const name = currency === '' ? 'no currency' : currency;
      return log === net ? [] : [`${name}: the log has ${log}, the rows add up to ${net}`];
    });
    if (texts.length > 0) certificate.add(netSumsCheck, 'lake', file, texts.join('; '));
  }
}
