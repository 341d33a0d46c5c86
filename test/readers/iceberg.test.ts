import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { builtCommand } from '../app/built-command.js';
import { ran, serving, temporaryFolder } from '../app/lake-run.js';
import { compacted } from '../app/maintenance/kept-lake.js';
import { setClock } from '../app/sync/synced.js';
import { clickhouseLines } from './clickhouse.js';

const dates = { from: '2026-01-24', to: '2026-03-10' };

test('ClickHouse reads the same sums from Iceberg metadata and from the log', async () => {
  const clock = setClock('2026-03-15T12:00:00Z');
  const seller = createSeller({ seed: 7, events: 900, profile: 'edge-cases' }, clock);
  const endpoint = await serving({ ledger: seller, clock });
  const lake = await temporaryFolder();
  const figures = (from: string) => [
    `SELECT currency, kind, count(), sum(amount) FROM ${from.replace('TABLE', 'entries')} GROUP BY ALL ORDER BY ALL`,
    `SELECT event_list, count(), sum(cityHash64(raw)), max(effective_at) FROM ${from.replace('TABLE', 'events')} GROUP BY ALL ORDER BY ALL`,
    `SELECT count(), min(effective_at) FROM ${from.replace('TABLE', 'events')} WHERE effective_at >= '2026-02-10'`,
    `SELECT extract(_path, 'account=([^/]+)'), count() FROM ${from.replace('TABLE', 'events')} GROUP BY ALL ORDER BY ALL`,
  ];
  const same = async (): Promise<string[][]> => {
    const { code } = await builtCommand(['export', 'iceberg', '--lake', lake], { folder: lake });
    expect(code).toBe(0);
    const delta = await clickhouseLines(figures(`deltaLakeLocal('${join(lake, 'TABLE')}')`));
    const iceberg = await clickhouseLines(figures(`icebergLocal('${join(lake, '_iceberg', 'TABLE')}')`));
    expect(iceberg).toEqual(delta);
    return iceberg;
  };
  await ran({ lake, endpoint, account: 'shop', ...dates }, { clock });
  const first = await same();
  expect(first[0]?.length).toBeGreaterThan(10);
  await ran({ lake, endpoint, account: 'other', ...dates }, { clock });
  const second = await same();
  expect(second[3]?.map((line) => line.split('\t')[0])).toEqual(['other', 'shop']);
  await compacted({ lake }, { clock });
  expect(await same()).toEqual(second);
});
