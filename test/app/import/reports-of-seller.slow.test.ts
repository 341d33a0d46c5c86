import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { sellerReports } from '../../emulator/seller/report-of.js';
import { clockAt, database, defaults, ran, serving, temporaryFolder } from '../lake-run.js';
import { verified } from '../verify/verified.js';
import { fileOf, imported } from './imported.js';

const clock = clockAt('2025-03-20T00:00:00Z');

/** Every second settlement with a decimal comma, and documents that overlap. */
async function importedReports(root: string, seller: ReturnType<typeof createSeller>) {
  const point = await sellerReports(seller);
  const comma = await sellerReports(seller, (text) => text.replace('.', ','));
  const texts = point.map((text, at) => (at % 2 === 0 ? text : (comma[at] ?? '')));
  const documents = texts.map((text, at) => `${text}${texts[at + 1] ?? ''}`);
  const files = await Promise.all(documents.map((text, at) => fileOf(Buffer.from(text), `report-${at}.txt`)));
  return { settlements: texts.length, ...(await imported({ root, clock }, files)) };
}

test.each(['plausible', 'edge-cases'] as const)(
  'reports of the %s seller add up to the totals of its groups, line for line what the service has by group',
  async (profile) => {
    const seller = createSeller({ seed: 5, events: 3000, profile, days: 60 }, clock);
    const root = await temporaryFolder();
    await ran(
      {
        ...defaults,
        lake: root,
        endpoint: await serving({ backend: seller, clock }),
        account: 'demo',
        from: '2025-01-01',
      },
      { clock },
    );
    const { settlements, failure, summary } = await importedReports(root, seller);
    expect(failure).toBeUndefined();
    expect(settlements).toBeGreaterThan(10);
    expect(summary.imported['settlement-reports']).toMatchObject({ known: settlements - 1, left_out: 0 });
    const reader = await database(root, clock);

    // A settlement has another id than its group.
    const matched =
      'settlement_reports JOIN groups ON currency = original_currency AND ' +
      "settlement_reports.started_at = date_trunc('second', groups.started_at)";
    // The totals are those of the groups, which the service sums by itself.
    const totals = await reader.rows(
      `SELECT count(*) AS settlements, count(*) FILTER (total_amount = original_total) AS equal FROM ${matched}`,
    );
    expect(totals[0]?.['equal']).toBe(totals[0]?.['settlements']);
    expect(Number(totals[0]?.['settlements'])).toBeGreaterThan(5);
    const lines = await reader.rows(
      'SELECT settlement_id FROM settlement_reports LEFT JOIN settlement_lines USING (settlement_id) GROUP BY settlement_id, total_amount ' +
        'HAVING coalesce(sum(amount), 0) <> total_amount',
    );
    expect(lines).toEqual([]);

    // The amounts of orders have kind and name of the entries that the service gives by group.
    const lists =
      "('ShipmentEventList', 'ShipmentSettleEventList', 'TrialShipmentEventList', 'RefundEventList', 'GuaranteeClaimEventList', " +
      "'ChargebackEventList')";
    const ofReports =
      `SELECT group_id, order_id, kind, name, sum(amount) AS amount FROM (SELECT group_id, settlement_lines.* FROM ${matched} JOIN ` +
      "settlement_lines USING (settlement_id)) WHERE transaction_type IN ('Order', 'Refund', 'A-to-z Guarantee Refund', 'Chargeback Refund') AND " +
      "amount_type IN ('ItemPrice', 'ItemFees', 'ItemWithheldTax', 'Promotion', 'Points') GROUP BY ALL HAVING sum(amount) <> 0";
    const ofGroups =
      "SELECT group_id, amazon_order_id, kind, coalesce(name, regexp_extract(path, '[^.]*$')), sum(amount) FROM group_entries " +
      `WHERE role = 'net' AND event_list IN ${lists} AND kind <> 'direct_payment' AND group_id IN (SELECT group_id FROM ${matched}) ` +
      'GROUP BY ALL HAVING sum(amount) <> 0';
    const loaded = 'group_id IN (SELECT group_id FROM group_events)';
    for (const [one, other] of [
      [`SELECT * FROM (${ofReports}) WHERE ${loaded}`, ofGroups],
      [ofGroups, ofReports],
    ]) {
      expect(await reader.rows(`SELECT * FROM (${one ?? ''} EXCEPT ALL ${other ?? ''}) LIMIT 3`)).toEqual([]);
    }
    const [counted] = await reader.rows(`SELECT count(*) AS sums FROM (${ofGroups})`);
    expect(Number(counted?.['sums'])).toBeGreaterThan(1000);

    const { code, problems } = await verified({ root, clock });
    expect([code, problems.filter(({ kind }) => kind === 'lake')]).toEqual([0, []]);
  },
);
