import type { Add, MetaData } from '../../src/lake/delta/actions.js';
import type { LoadKey } from '../../src/lake/catalog/load-key.js';

const dayMs = 86_400_000;

/** What one slice of a day brings: a file and its load key. */
export function dayOf(account: string, day: number): { readonly file: Add; readonly key: LoadKey } {
  const start = Date.UTC(2025, 0) + day * dayMs;
  const from = new Date(start).toISOString();
  const key = `window/${from}/${new Date(start + dayMs).toISOString()}`;
  const month = from.slice(0, 7);
  const sha256 = (day * 7919 + 1).toString(16).padStart(64, account.replaceAll(/[^0-9a-f]/g, '') || '0');
  const stats = {
    numRecords: 1000,
    minValues: { posted_at: from },
    maxValues: { posted_at: from },
    nullCount: { posted_at: 0 },
  };
  const file: Add = {
    path: `account=${account}/month=${month}/${day}-4f1c02aa_${day}.parquet`,
    partitionValues: { account, month },
    size: 100_000 + day,
    modificationTime: start,
    dataChange: true,
    stats: JSON.stringify(stats),
    tags: {
      pipeline: 'financial-events',
      units: JSON.stringify([key]),
      rows: '1000',
      sha256,
      net: '{"USD":"1.000000"}',
    },
  };
  const window = { start, end: start + dayMs };
  return {
    file,
    key: { account, pipeline: 'financial-events', key, window, readAt: start, since: start, origin: 'api' },
  };
}

export function accountOf(number: number): string {
  return `shop-${String(number).padStart(5, '0')}`;
}

/** A table of the length of the schema of `events`. */
export function metaDataOf(table: string): MetaData {
  const fields = Array.from({ length: 30 }, (_, at) => ({
    name: `column_${at}`,
    type: 'string',
    nullable: true,
    metadata: {},
  }));
  return {
    id: table,
    format: { provider: 'parquet', options: {} },
    schemaString: JSON.stringify({ type: 'struct', fields }),
    partitionColumns: ['account', 'month'],
    configuration: {},
  };
}
