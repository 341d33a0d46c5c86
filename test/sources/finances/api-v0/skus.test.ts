import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeller } from '../../../../src/emulator/seller/seller.js';
import { clockAt, database, ran, serving, temporaryFolder } from '../../../app/lake-run.js';

const clock = clockAt('2025-06-01T00:05:00Z');

/** The lists whose events name the fulfilment network's SKU: the JSON object that does. */
const holders = {
  ServiceFeeEventList: 'raw',
  AdjustmentEventList: "raw->'AdjustmentItemList'->item",
  RemovalShipmentEventList: "raw->'RemovalShipmentItemList'->item",
  RemovalShipmentAdjustmentEventList: "raw->'RemovalShipmentItemAdjustmentList'->item",
};

test("the seller's SKU and the fulfilment network's are columns of their own, in every list", async () => {
  const lake = join(await temporaryFolder(), 'lake');
  const endpoint = await serving({
    backend: createSeller({ seed: 5, events: 1500, days: 40, profile: 'edge-cases' }, clock),
    clock,
  });
  await ran({ lake, endpoint, account: 'shop', from: '2025-05-01', to: '2025-06-01' }, { clock });
  const duckdb = await database(lake, clock);
  for (const [events, entries] of [
    ['events', 'entries'],
    ['group_events', 'group_entries'],
  ] as const) {
    for (const [list, holder] of Object.entries(holders)) {
      const named = (...fields: string[]) => `coalesce(${fields.map((field) => `${holder}->>'${field}'`).join(', ')})`;
      const rows = await duckdb.rows(
        `SELECT sku, fnsku, ${named('SellerSKU', 'SKU')} AS theirs, ${named('FnSKU', 'FulfillmentNetworkSKU')} AS networks ` +
          `FROM ${entries} JOIN (SELECT event_id, window_start, raw::JSON AS raw FROM ${events}) USING (event_id) ` +
          `WHERE event_list = '${list}' AND (item IS NOT NULL OR event_list = 'ServiceFeeEventList')`,
      );
      const held = rows.filter(({ networks }) => networks !== null);
      expect(held.length, list).toBeGreaterThan(0);
      for (const { sku, fnsku, theirs, networks } of rows) expect([sku, fnsku], list).toEqual([theirs, networks]);
    }
    expect(
      await duckdb.rows(
        `SELECT event_list FROM ${entries} WHERE fnsku IS NOT NULL AND event_list NOT IN (${Object.keys(holders)
          .map((list) => `'${list}'`)
          .join(', ')})`,
      ),
    ).toEqual([]);
  }
});
