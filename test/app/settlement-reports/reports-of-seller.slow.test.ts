import { expect, test } from 'vitest';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import type { FaultRequest } from '../../../src/serve/http/fault-injection.js';
import { microsOf } from '../../emulator/seller/reading.js';
import { runningClock } from '../../running-clock.js';
import { rowsOf } from '../../serve/reports/report-client.js';
import { database, defaults, ran, serving, temporaryFolder } from '../lake-run.js';

const now = '2025-03-20T00:00:00Z';
const pipeline = 'settlement-reports';
const ofDownloads = { when: ({ operation }: FaultRequest) => operation === 'Download', share: 0.1 };

/** Everything that is known of reports at once, and a connection on a bad day. */
const faults: Faults = {
  'reports-overlap': { amount: 3 },
  'report-restated': { share: 0.5 },
  'report-missing': {},
  'decimal-comma': { share: 0.5 },
  'dotted-dates': { share: 0.5 },
  'labels-renamed': { share: 0.5 },
  'shipment-as-order': { share: 0.5 },
  'marketplace-blank': { share: 0.5 },
  'fees-joined': { share: 0.5 },
  'windows-1252': { share: 0.5 },
  'address-expired': { share: 0.1 },
  'empty-page': { share: 0.3 },
  'server-error': ofDownloads,
  'cut-body': ofDownloads,
};

const order = /^\d{3}-\d{7}-\d{7}$/;

/** The sums of settlements, and of their orders, as the seller writes them without faults: millionths. */
async function expectedSums(profile: 'plausible' | 'edge-cases', withNegative: boolean) {
  const clock = runningClock(now);
  const { byReport } = createSeller({ seed: 5, events: 900, profile, days: 50 }, clock);
  const sums = new Map<string, bigint>();
  for (const report of await byReport.reports(Date.parse(now))) {
    if (report.doneAt > Date.parse(now)) continue;
    const [header, ...lines] = rowsOf((await byReport.documentOf(report)).text);
    const total = microsOf(header?.get('total-amount') ?? '');
    if (total < 0n && !withNegative) continue;
    const id = header?.get('settlement-id') ?? '';
    sums.set(id, total);
    for (const line of lines) {
      const key = `${id} ${line.get('order-id') ?? ''}`;
      if (order.test(line.get('order-id') ?? '')) {
        sums.set(key, (sums.get(key) ?? 0n) + microsOf(line.get('amount') ?? ''));
      }
    }
  }
  return sums;
}

test.each([
  ['plausible', undefined],
  ['plausible', faults],
  ['edge-cases', faults],
] as const)('the pipeline reads the reports of the %s seller, with faults %#', async (profile, given) => {
  const clock = runningClock(now, 20);
  const backend = createSeller({ seed: 5, events: 900, profile, days: 50 }, clock);
  const lake = await temporaryFolder();
  const endpoint = await serving({ backend, clock, faults: given });
  await ran({ ...defaults, lake, endpoint, account: 'shop', pipelines: [pipeline], from: '2024-12-01' }, { clock });

  const reader = await database(lake, clock);
  const found = new Map<string, bigint>();
  const query =
    'SELECT settlement_id AS key, total_amount AS amount FROM settlement_reports UNION ALL ' +
    "SELECT settlement_id || ' ' || order_id, sum(amount) FROM settlement_lines " +
    "WHERE regexp_full_match(order_id, '\\d{3}-\\d{7}-\\d{7}') GROUP BY ALL";
  for (const { key, amount } of await reader.rows(query)) found.set(String(key), microsOf(String(amount)));
  const expected = await expectedSums(profile, given === undefined);
  expect(expected.size).toBeGreaterThan(400);
  // A report may be created while the pipeline reads.
  const known = new Set([...expected.keys()].map((key) => key.split(' ')[0]));
  const compared = new Map([...found].filter(([key]) => known.has(key.split(' ')[0])));
  expect(compared.size).toBe(expected.size);
  expect(compared).toEqual(expected);

  const odd = await reader.rows(
    'SELECT settlement_id FROM settlement_reports LEFT JOIN settlement_lines USING (settlement_id) ' +
      'GROUP BY settlement_id, total_amount HAVING coalesce(sum(amount), 0) <> total_amount',
  );
  expect(odd).toEqual([]);
});
