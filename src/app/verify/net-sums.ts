import type { Database } from '../../core/duckdb/connection.js';
import type { Certificate } from './certificate.js';
import { parquet, type ReadableFile } from './file-contents.js';

const zero = '0.000000';

/** Holds the net sums in the log's tags against the rows, those of a main file against the entries of its events. */
export async function checkNetSums(
  mains: readonly ReadableFile[],
  derived: readonly ReadableFile[],
  database: Database,
  certificate: Certificate,
  signal: AbortSignal,
): Promise<void> {
  const entries = derived.map(({ path }) => path);
  for (const { file, path } of [...derived, ...mains]) {
    certificate.count('net-sums');
    const isMain = file.derived !== undefined;
    const of = isMain ? entries : [path];
    const own = isMain ? `AND event_id IN (SELECT event_id FROM ${parquet(path)})` : '';
    const sql =
      "SELECT coalesce(currency, '') AS currency, sum(amount)::VARCHAR AS net " +
      `FROM ${parquet(...of)} WHERE role = 'net' AND amount IS NOT NULL ${own} GROUP BY ALL`;
    const rows = of.length === 0 ? [] : await database.rows(sql, { signal });
    const sums = new Map(rows.map(({ currency, net }) => [String(currency), String(net)]));
    const said = new Map(Object.entries(file.net ?? {}));
    const wrong = [...new Set([...sums.keys(), ...said.keys()])].filter(
      (currency) => (sums.get(currency) ?? zero) !== (said.get(currency) ?? zero),
    );
    if (wrong.length === 0) continue;
    const texts = wrong.map(
      (currency) =>
        `${currency === '' ? 'no currency' : currency}: the log says ${said.get(currency) ?? zero}, the rows give ${sums.get(currency) ?? zero}`,
    );
    certificate.add('net-sums', 'lake', file, texts.join('; '));
  }
}
