import fc from 'fast-check';
import { expect, test } from 'vitest';
import { millionthsText } from '../../../../src/core/numeric/decimal.js';
import { records } from '../../../../src/sources/finances/api-v0/event-records.js';
import { decimalMarkOf, plainAmount } from '../../../../src/sources/finances/settlement-reports/amount-forms.js';
import { reportDay, reportInstant } from '../../../../src/sources/finances/settlement-reports/date-forms.js';
import { lineKind, lineLabels } from '../../../../src/sources/finances/settlement-reports/line-kinds.js';
import { settlementsIn } from '../../../../src/sources/finances/settlement-reports/report-document.js';
import { reportFields } from '../../../../src/sources/finances/settlement-reports/report-fields.js';
import {
  namesLine,
  writtenAmount,
  writtenInstant,
  writtenLine,
} from '../../../../src/sources/finances/settlement-reports/report-writing.js';

const kinds = [...new Set(Object.values(records).flatMap(({ amounts }) => amounts.map(({ kind }) => kind)))];
const lists = [
  'Shipment',
  'Refund',
  'Retrocharge',
  'ServiceFee',
  'Adjustment',
  'RemovalShipment',
  'CouponPayment',
  'New',
];
const names = ['Principal', 'Tax', 'ShippingCharge', 'Shipping', 'Commission', 'Subscription', 'FBAStorageFee'];
const texts = fc.oneof(fc.string(), fc.string({ unit: 'binary' }));

test('labels have the kind and the name that they are written for', () => {
  const list = fc.oneof(
    fc.constantFrom(...lists, ...Object.keys(records).map((name) => name.replace('Event', ''))),
    texts,
  );
  const name = fc.oneof(
    fc.constantFrom(...names, 'Storage Fee', 'ReserveCredit', 'Base fee', '*', '{type}', '{description}', '__proto__'),
    texts,
  );
  fc.assert(
    fc.property(list, fc.constantFrom(...kinds, 'unknown'), name, (of, kind, called) => {
      const { transactionType, amountType, description } = lineLabels(of, { kind, name: called });
      expect(lineKind(transactionType, amountType, description)).toEqual({ kind, name: called });
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['Shipment', 'charge', 'ShippingCharge', 'Order / ItemPrice / Shipping'],
  ['ShipmentSettle', 'fee', 'Commission', 'Order / ItemFees / Commission'],
  [
    'Refund',
    'tax_withheld',
    'MarketplaceFacilitatorTax-Principal',
    'Refund / ItemWithheldTax / MarketplaceFacilitatorTax-Principal',
  ],
  ['GuaranteeClaim', 'charge', 'Principal', 'A-to-z Guarantee Refund / ItemPrice / Principal'],
  ['Chargeback', 'fee', 'RefundCommission', 'Chargeback Refund / ItemFees / RefundCommission'],
  ['Shipment', 'promotion', 'PromotionMetaDataDefinitionValue', 'Order / Promotion / Principal'],
  ['Shipment', 'points', 'CostOfPointsGranted', 'Order / Points / PointsGranted'],
  ['ServiceFee', 'fee', 'FBALongTermStorageFee', 'other-transaction / other-transaction / StorageRenewalBilling'],
  ['ServiceFee', 'fee', 'FBAInboundConvenienceFee', 'FBAFees / FBAInboundConvenienceFee / Base fee'],
  ['ServiceFee', 'fee', 'EasyShipFee', 'AmazonFees / EasyShipFee / Base fee'],
  ['ProductAdsPayment', 'fee', 'ProductAdsPayment', 'ServiceFee / Cost of Advertising / Base fee'],
  ['ProductAdsPayment', 'tax', 'ProductAdsPayment', 'ServiceFee / Cost of Advertising / Tax on fee'],
  ['CouponPayment', 'fee', 'CouponRedemptionFee', 'CouponRedemptionFee / CouponRedemptionFee / CouponRedemptionFee'],
  ['Adjustment', 'adjustment', 'WAREHOUSE_LOST', 'other-transaction / FBA Inventory Reimbursement / WAREHOUSE_LOST'],
  ['Adjustment', 'adjustment', 'ReserveDebit', 'other-transaction / other-transaction / Current Reserve Amount'],
  ['Adjustment', 'adjustment', 'PostageBilling', 'other-transaction / adjustment / PostageBilling'],
  ['RemovalShipment', 'charge', 'Revenue', 'Liquidations / ItemPrice / Principal'],
  ['LoanServicing', 'loan', 'LoanPayment', 'other-transaction / loan / LoanPayment'],
])('%s, %s, %s is written as %s', (list, kind, name, labels) => {
  expect(Object.values(lineLabels(list, { kind, name })).join(' / ')).toBe(labels);
});

test('a written line is read with the fields that it was written with; others are counted', () => {
  const field = fc.oneof(
    texts,
    fc.constantFrom('"', '""', '"a"', '"a""', ' a', 'a\tb', 'a\nb', 'a\r', 'settlement-id', '\u00a0', '\ufeff'),
  );
  const free = [
    'order-id',
    'merchant-order-id',
    'marketplace-name',
    'amount-description',
    'sku',
    'promotion-id',
  ] as const;
  fc.assert(
    fc.property(fc.tuple(...free.map(() => field)), fc.uuid(), (values, id) => {
      const fields = Object.fromEntries(free.map((name, at) => [name, values[at] ?? '']));
      const header = writtenLine({ 'settlement-id': id, 'total-amount': '1.00' }).text;
      const types = { 'transaction-type': 'Order', 'amount-type': 'ItemPrice', amount: '1.00' };
      const { text, altered } = writtenLine({ 'settlement-id': id, ...types, ...fields });
      expect(text).not.toMatch(/[\n\r]/);
      const lines = [namesLine, header, text].map((raw, at) => ({ number: at + 1, raw }));
      const { settlements, faults } = settlementsIn(lines);
      expect(faults).toEqual([]);
      const [settlement] = settlements;
      expect([settlement?.id, settlement?.lines.length]).toEqual([id, 1]);
      const read = free.map((name) => settlement?.names.reader(name)(splitFields(text)));
      expect(read.filter((found, at) => found !== values[at])).toHaveLength(altered);
      expect(read).toEqual(values.map((value) => value.replace(/[\t\n\r]/g, ' ').trim()));
    }),
    { numRuns: 300 },
  );
});

/** The fields of a line by a second rule: a field is what stands between tabs, or its text in quotes. */
function splitFields(line: string): string[] {
  const fields = line.split('\t');
  expect(fields).toHaveLength(reportFields.length);
  return fields.map((field) =>
    /^".*"$/s.test(field) && field.length > 1 ? field.slice(1, -1).replaceAll('""', '"') : field,
  );
}

test('a written amount has all its digits, two at least, and is read alone as the same number', () => {
  expect(['25.100000', '1.234000', '-0.000001', '1234.560000', '0.000000'].map(writtenAmount)).toEqual([
    ...['25.10', '1.2340', '-0.000001', '1234.56', '0.00'],
  ]);
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }), fc.nat(6), (value, zeros) => {
      const rounded = value - (value % 10n ** BigInt(zeros));
      const text = writtenAmount(millionthsText(rounded));
      expect(decimalMarkOf([text])).toBe('.');
      const [whole = '', decimals = ''] = (plainAmount(text, '.') ?? '').split('.');
      expect(BigInt(`${whole}${decimals.padEnd(6, '0')}`)).toBe(rounded);
    }),
  );
});

test('a written instant is read as the same one', () => {
  expect(writtenInstant('2026-03-02T07:11:20.000Z')).toBe('2026-03-02 07:11:20 UTC');
  expect(writtenInstant('2026-03-02T07:11:20.25Z')).toBe('2026-03-02 07:11:20.25 UTC');
  const instants = fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T00:00:00Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(instants, (at) => {
      const text = writtenInstant(at.toISOString());
      expect(reportInstant(text, 'month-first')).toBe(BigInt(at.getTime()) * 1000n);
      expect(reportDay(text, 'month-first')).toBe(Math.floor(at.getTime() / 86_400_000));
    }),
  );
});
