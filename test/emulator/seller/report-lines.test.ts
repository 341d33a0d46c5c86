import { expect, test } from 'vitest';
import { createSeller, type Seller } from '../../../src/emulator/seller/seller.js';
import { clockAt } from '../../app/lake-run.js';
import { rowsOf } from '../../serve/reports/report-client.js';
import { listIn } from '../../serve/transactions/seller-server.js';
import { isObject, type Json, type JsonObject, microsOf, parse, textOf } from './reading.js';

const clock = clockAt('2025-06-15T12:00:00Z');

function sellerOf(profile: 'plausible' | 'edge-cases'): Seller {
  return createSeller({ seed: 3, events: 1500, profile }, clock);
}

/** The shipments that the service sends for a group. */
async function shipmentsOf(seller: Seller, groupId: string): Promise<readonly JsonObject[]> {
  const page = await seller.eventsOfGroup(groupId, { cursor: undefined, limit: 100_000, asOf: clock.now() });
  return (page?.items ?? [])
    .filter(({ list }) => list === 'ShipmentEventList')
    .map(({ json }) => parse(json))
    .filter(isObject);
}

const micros = (money: Json | undefined) => microsOf(textOf(isObject(money) ? money['CurrencyAmount'] : undefined));
const optionalText = (value: Json | undefined) => (value === undefined ? '' : textOf(value));

/** The lines of a shipment's items, by the rules of a report: names and amounts as the event has them, but for these. */
function linesOf(shipment: JsonObject): readonly string[] {
  return listIn(shipment, 'ShipmentItemList').flatMap((item) => {
    const fees = listIn(item, 'ItemFeeList');
    const isFulfilled = fees.some((fee) => textOf(fee['FeeType']).startsWith('FBA'));
    const line = (type: string, description: string, amount: bigint, quantity = '', promotion = '') => {
      const fields = [
        optionalText(shipment['AmazonOrderId']),
        optionalText(shipment['SellerOrderId']),
        type,
        description,
        String(amount),
        isFulfilled ? 'AFN' : 'MFN',
        optionalText(item['OrderItemId']),
        textOf(item['SellerSKU']),
        quantity,
        promotion,
      ];
      // A report has no lines of nothing.
      return amount === 0n ? [] : [fields.join(' | ')];
    };
    const named = (list: string, key: 'Charge' | 'Fee') =>
      listIn(item, list).map((one) => [textOf(one[`${key}Type`]), micros(one[`${key}Amount`])] as const);
    const withheld = listIn(item, 'ItemTaxWithheldList').flatMap((component) => listIn(component, 'TaxesWithheld'));
    const points = item['CostOfPointsGranted'];
    return [
      ...named('ItemChargeList', 'Charge').map(([name, amount]) => {
        const quantity = name === 'Principal' ? JSON.stringify(item['QuantityShipped']) : '';
        return line('ItemPrice', name === 'ShippingCharge' ? 'Shipping' : name, amount, quantity);
      }),
      ...named('ItemFeeList', 'Fee').map(([name, amount]) => line('ItemFees', name, amount)),
      ...withheld.map((one) => line('ItemWithheldTax', textOf(one['ChargeType']), micros(one['ChargeAmount']))),
      ...listIn(item, 'PromotionList').map((one) =>
        line('Promotion', 'Principal', micros(one['PromotionAmount']), '', textOf(one['PromotionId'])),
      ),
      ...(points === undefined ? [] : [line('Points', 'PointsGranted', micros(points))]),
    ].flat();
  });
}

test.each(['plausible', 'edge-cases'] as const)(
  'the lines of items are those of the events of the %s seller, field by field',
  async (profile) => {
    const seller = sellerOf(profile);
    const { stream } = seller;
    let count = 0;
    for (const report of seller.byReport.allReports(clock.now()).slice(0, 12)) {
      const period = stream.periods.at(
        stream.profile.marketplaces.find(({ id }) => report.marketplaceIds.includes(id)) ??
          stream.profile.marketplaces[0],
        report.start,
      );
      const expected = (await shipmentsOf(seller, stream.periods.idOf(period))).flatMap(linesOf);
      const [, ...rows] = rowsOf((await seller.byReport.documentOf(report)).text);
      const columns = [
        'order-id',
        'merchant-order-id',
        'amount-type',
        'amount-description',
        'amount',
        'fulfillment-id',
        'order-item-code',
        'sku',
        'quantity-purchased',
        'promotion-id',
      ];
      const found = rows
        .filter((row) => row.get('shipment-id') !== '' && row.get('sku') !== '')
        .map((row) =>
          columns
            .map((name) => (name === 'amount' ? String(microsOf(row.get(name) ?? '')) : row.get(name)))
            .join(' | '),
        );
      expect(found.toSorted()).toEqual(expected.toSorted());
      count += found.length;
    }
    expect(count).toBeGreaterThan(500);
  },
);

test('labels are Amazon’s: by hand, for each kind of amount', async () => {
  const seller = sellerOf('edge-cases');
  const labels = new Map<string, number>();
  for (const report of seller.byReport.allReports(clock.now())) {
    const [, ...rows] = rowsOf((await seller.byReport.documentOf(report)).text);
    for (const row of rows) {
      const key = ['transaction-type', 'amount-type', 'amount-description'].map((name) => row.get(name)).join(' / ');
      labels.set(key, (labels.get(key) ?? 0) + 1);
    }
  }
  for (const label of [
    'Order / ItemPrice / Principal',
    'Order / ItemPrice / Shipping',
    'Order / ItemFees / Commission',
    'Order / ItemWithheldTax / MarketplaceFacilitatorTax-Principal',
    'Order / Promotion / Principal',
    'Order / Points / PointsGranted',
    'Refund / ItemPrice / Goodwill',
    'Refund / ItemFees / RefundCommission',
    'Refund / Points / PointsReturned',
    'A-to-z Guarantee Refund / ItemPrice / Principal',
    'Chargeback Refund / ItemPrice / Principal',
    'Order_Retrocharge / ItemPrice / Tax',
    'Refund_Retrocharge / ItemPrice / Tax',
    'ServiceFee / Cost of Advertising / TransactionTotalAmount',
    'CouponRedemptionFee / CouponRedemptionFee / 10 % off – nur heute!',
    'ServiceFee / Deals / Lightning deal: mugs',
    'AmazonFees / Vine Enrollment Fee / Base fee',
    'AmazonFees / Vine Enrollment Fee / Tax on fee',
    'FBAFees / FBAStorageFee / Base fee',
    'FBAFees / FBAStorageFee / Tax on fee',
    'other-transaction / other-transaction / Storage Fee',
    'other-transaction / other-transaction / Subscription Fee',
    'other-transaction / other-transaction / FBAInboundTransportationFee',
    'other-transaction / other-transaction / RemovalComplete',
    'other-transaction / other-transaction / DisposalComplete',
    'other-transaction / other-transaction / Paid services fee',
    'other-transaction / FBA Inventory Reimbursement / WAREHOUSE_LOST',
    'other-transaction / FBA Inventory Reimbursement / COMPENSATED_CLAWBACK',
    'other-transaction / other-transaction / SAFE-T Reimbursement',
    'other-transaction / other-transaction / COMMINGLING_VAT',
    'other-transaction / other-transaction / Seller Rewards',
    'other-transaction / other-transaction / Capacity Reservation Fee',
    'other-transaction / other-transaction / Income tax charged',
    'other-transaction / other-transaction / Previous Reserve Amount Balance',
    'other-transaction / other-transaction / Current Reserve Amount',
    'other-transaction / other-transaction / Payable to Amazon',
    'other-transaction / other-transaction / Successful charge',
    'other-transaction / other-transaction / Transfer of funds unsuccessful',
    'Liquidations / ItemPrice / Principal',
    'Liquidations / ItemWithheldTax / MarketplaceFacilitatorTax-Principal',
    'Liquidations Adjustments / ItemPrice / Principal',
  ]) {
    expect(labels.get(label), label).toBeGreaterThan(0);
  }
});
