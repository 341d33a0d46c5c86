import { afterAll, beforeAll, expect, test } from 'vitest';
import { categories } from '../../../src/app/query/categories.js';
import { views } from '../../../src/app/query/views.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { breakdownKind } from '../../../src/sources/finances/api-2024-06-19/breakdown-kinds.js';
import { eventLists, records } from '../../../src/sources/finances/api-v0/event-records.js';
import type { Window } from '../../../src/core/windows.js';
import { arrayBackend, type DatedItem } from '../../serve/http/array-backend.js';
import { arrayTransactions } from '../../serve/http/array-transactions.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../load/synced.js';

let sql: Database;
beforeAll(async () => {
  sql = await openDatabase();
  for (const name of ['amount_name', 'category_of']) await sql.execute(views.get(name) ?? '');
});
afterAll(() => {
  sql.close();
});

type Amount = readonly [listOrType: string, kind: string, name: string | null];

async function categoriesOf(amounts: readonly Amount[]): Promise<string[]> {
  const calls = amounts.map(
    (amount) => `category_of(${amount.map((text) => (text === null ? 'NULL' : literal(text))).join(', ')})`,
  );
  const rows = await sql.rows(`SELECT unnest([${calls.join(', ')}]) AS category`);
  return rows.map(({ category }) => String(category));
}

async function expectCategories(expected: readonly (readonly [...Amount, string])[]): Promise<void> {
  const found = await categoriesOf(expected.map(([list, kind, name]) => [list, kind, name]));
  expect(expected.map(([list, kind, name], at) => [list, kind, name, found[at]])).toEqual(expected);
}

test('each net amount of the model of v0 has a category, an adjustment by its type alone', async () => {
  const amounts = Object.entries(eventLists).flatMap(([list, record]) =>
    records[record].amounts
      .filter(({ role }) => role === 'net')
      .map(({ kind }): Amount => [list, kind, kind === 'adjustment' ? 'ReserveEvent' : 'Principal']),
  );
  expect(amounts.length).toBeGreaterThan(100);
  const found = await categoriesOf(amounts);
  expect(amounts.filter((_, at) => found[at] === 'unknown')).toEqual([]);
  expect([...new Set([...found, 'unknown'])].toSorted()).toEqual(categories.map(({ id }): string => id).toSorted());
});

/** The types of adjustments that the model, the settlement report and sellers name. */
const adjustments = {
  fees: [
    ...['PostageBilling', 'PostageBilling_Postage', 'PostageBilling_SignatureConfirmation'],
    ...['PostageRefund', 'PostageRefund_Postage', 'NonSubscriptionFeeAdj'],
  ],
  loans_and_transfers: ['ReserveEvent', 'ReserveCredit', 'ReserveDebit'],
  reimbursements: [
    ...['FBAInventoryReimbursement', 'LostOrDamagedReimbursement', 'CanceledButPickedUpReimbursement'],
    ...['ReimbursementClawback', 'SellerRewards', 'BuyerRecharge', 'MiscAdjustment'],
    ...['WAREHOUSE_LOST', 'WAREHOUSE_DAMAGE', 'REVERSAL_REIMBURSEMENT', 'COMPENSATED_CLAWBACK'],
  ],
  taxes: ['RetrochargeReversal'],
  unknown: ['SomethingNew', 'WAREHOUSE', 'ReserveEvents', 'Refund', '', null],
};

test.each(['AdjustmentEventList', 'Adjustment', 'MiscellaneousLedgerAdjustment/'])(
  'an adjustment belongs to the category of its type, and one that nobody knows to none of trade (%s)',
  async (list) => {
    const expected = Object.entries(adjustments).flatMap(([category, names]) =>
      names
        // Its own type stands for amounts without a name.
        .filter((name) => !list.startsWith('Misc') || (name !== null && name !== 'Refund'))
        .map((name) => [list.replace('/', ''), 'adjustment', name, category] as const),
    );
    await expectCategories(expected);
  },
);

test('an amount of a transaction belongs to the category of its type, then to that of its transaction', async () => {
  const kindOf = (type: string, breakdown: string) => breakdownKind(type, breakdown.split('/'));
  const nameOf = (breakdown: string) => breakdown.split('/').at(-1) ?? '';
  const amounts: readonly (readonly [type: string, breakdown: string, category: string])[] = [
    ['Shipment', 'ProductCharges/OurPricePrincipal', 'sales'],
    ['Shipment', 'Shipping/ShippingPrincipal', 'sales'],
    ['Shipment', 'Giftwrap/GiftwrapPrincipal', 'sales'],
    ['Shipment', 'Tax/OurPriceTax', 'taxes'],
    ['Shipment', 'Tax/ShippingTax', 'taxes'],
    ['Shipment', 'MarketplaceFacilitatorTax/MarketplaceFacilitatorTax-Principal', 'taxes'],
    ['Shipment', 'MarketplaceFacilitatorVAT-Principal', 'taxes'],
    ['Shipment', 'LowValueGoodsTax-Principal', 'taxes'],
    ['Shipment', 'AmazonFees/Commission/Base', 'fees'],
    ['Shipment', 'AmazonFees/Commission/Tax', 'fees'],
    ['Shipment', 'AmazonFees/ShippingChargeback', 'fees'],
    ['Shipment', 'PromoRebates', 'promotions'],
    ['Shipment', 'OurPriceDiscount', 'promotions'],
    ['Shipment', 'PointsGranted', 'promotions'],
    ['Shipment', 'CollectOnDeliveryRevenue', 'loans_and_transfers'],
    ['Refund', 'GoodwillPrincipal', 'refunds'],
    ['Refund', 'RefundCommission', 'refunds'],
    ['GuaranteeClaim', 'SomethingNew', 'refunds'],
    ['Retrocharge', 'BaseTax', 'taxes'],
    ['Retrocharge', 'Sales', 'taxes'],
    ['ServiceFee', 'FBAStorageBilling', 'fees'],
    ['ServiceFee', 'Expenses', 'fees'],
    ['ServiceFee', 'CouponParticipationFee', 'fees'],
    ['ProductAdsPayment', 'Expenses', 'fees'],
    ['FBAInventoryReimbursement', 'Sales', 'reimbursements'],
    ['FBAInventoryReimbursement', 'FBAReversedReimbursement', 'reimbursements'],
    ['Adjustment', 'ReserveCredit', 'loans_and_transfers'],
    ['Adjustment', 'ReserveDebit', 'loans_and_transfers'],
    ['Adjustment', 'Expenses/PostageBilling_Postage', 'fees'],
    ['Adjustment', 'BuyerRecharge', 'reimbursements'],
    ['Adjustment', 'Expenses', 'unknown'],
    ['MiscellaneousLedgerAdjustment', 'Sales', 'reimbursements'],
    ['MiscellaneousLedgerAdjustment', 'SomethingNew', 'unknown'],
    ['RemovalShipment', 'RecommerceLiquidation', 'sales'],
    ['RemovalShipment', 'Sales', 'sales'],
    ['Shipment', 'TaxOnRevenue', 'taxes'],
    ['LoanServicing', 'Loan', 'loans_and_transfers'],
    ['LoanServicing', 'Expenses', 'loans_and_transfers'],
    ['DebtRecovery', 'DebtPayment', 'loans_and_transfers'],
    ['ServiceProviderCredit', 'SolutionProviderCredit', 'loans_and_transfers'],
    ['AdhocDisbursement', 'Disbursement', 'loans_and_transfers'],
    ['AffordabilityExpense', 'BaseExpense', 'fees'],
    ['AffordabilityExpense', 'TaxTypeIGST', 'taxes'],
    ['NetworkComminglingTransaction', 'TaxExclusive', 'taxes'],
    ['SomethingNew', 'Sales', 'unknown'],
    ['SomethingNew', 'SomethingElse', 'unknown'],
    ['Shipment', 'Sales', 'unknown'],
  ];
  await expectCategories(
    amounts.map(([type, breakdown, category]) => [type, kindOf(type, breakdown), nameOf(breakdown), category]),
  );
});

const money = (amount: number) => ({ CurrencyCode: 'USD', CurrencyAmount: amount });
const at = (day: number) => `2026-10-0${day}T00:00:00Z`;

/** A sale of 100.00, and adjustments beside it: a reserve, a shipping label, a buyer's payment, and two of no known type. */
const adjusted: readonly (readonly [type: string, day: number, amount: number])[] = [
  ['ReserveEvent', 6, -5000],
  ['PostageBilling_Postage', 7, -12.34],
  ['BuyerRecharge', 7, 7],
  ['SomethingNew', 8, 3],
];

function eventsOfV0(): DatedItem[] {
  const sale = {
    AmazonOrderId: '1',
    PostedDate: at(5),
    ShipmentItemList: [{ ItemChargeList: [{ ChargeType: 'Principal', ChargeAmount: money(100) }] }],
  };
  const item = (list: string, day: number, json: object) => ({
    list,
    at: Date.parse(at(day)),
    json: JSON.stringify(json),
  });
  return [
    item('ShipmentEventList', 5, sale),
    ...adjusted.map(([type, day, amount]) =>
      item('AdjustmentEventList', day, {
        AdjustmentType: type,
        PostedDate: at(day),
        AdjustmentAmount: money(amount),
      }),
    ),
  ];
}

function transactionsIn({ start, end }: Window): string[] {
  const amountOf = (amount: number) => ({ currencyCode: 'USD', currencyAmount: amount });
  const of = (id: string, type: string, day: number, breakdown: string, amount: number) => ({
    transactionId: id,
    transactionType: type,
    transactionStatus: 'RELEASED',
    postedDate: at(day),
    totalAmount: amountOf(amount),
    breakdowns: [
      {
        breakdownType: amount > 0 ? 'Sales' : 'Expenses',
        breakdownAmount: amountOf(amount),
        breakdowns: [{ breakdownType: breakdown, breakdownAmount: amountOf(amount) }],
      },
    ],
  });
  const all = [
    of('T-1', 'Shipment', 5, 'OurPricePrincipal', 100),
    ...adjusted.map(([type, day, amount], index) =>
      of(`A-${index}`, 'Adjustment', day, type === 'ReserveEvent' ? 'ReserveDebit' : type, amount),
    ),
  ];
  const isIn = (instant: number) => instant >= start && instant < end;
  return all.filter(({ postedDate }) => isIn(Date.parse(postedDate))).map((one) => JSON.stringify(one));
}

test.each(['v0', '2024-06-19'] as const)(
  'a reserve is no loss, postage is a fee, and what nobody knows is not earned (%s)',
  async (api) => {
    const clock = setClock('2026-11-01T00:00:00Z');
    const byTransaction = {
      ...arrayTransactions([]),
      transactions: ({ range }: { readonly range: Window }) =>
        Promise.resolve({ items: transactionsIn(range).map((json) => ({ list: '', json })), next: undefined }),
    };
    const endpoint = await serving({ backend: { ...arrayBackend(eventsOfV0()), byTransaction }, clock });
    const lake = await temporaryFolder();
    const pipelines = [api === 'v0' ? 'financial-events' : 'transactions'];
    await ran({ lake, endpoint, account: 'shop', from: '2026-10-01', pipelines }, { clock });
    const columns = 'sales, earned, fees, reimbursements, loans_and_transfers, unknown, net_proceeds';
    const rows = await (await database(lake, clock)).rows(`SELECT ${columns} FROM pnl_by_month`);
    expect(rows.map((row) => Object.values(row).map(Number))).toEqual([[100, 94.66, -12.34, 7, -5000, 3, -4902.34]]);
  },
);

interface Node {
  readonly breakdownType?: string;
  readonly breakdownAmount: { readonly currencyCode: string; readonly currencyAmount: number };
  readonly breakdowns?: readonly Node[];
}

const node = (breakdownType: string | undefined, currencyAmount: number, ...breakdowns: Node[]): Node => ({
  ...(breakdownType === undefined ? {} : { breakdownType }),
  breakdownAmount: { currencyCode: 'USD', currencyAmount },
  ...(breakdowns.length > 0 ? { breakdowns } : {}),
});

/** Trees of adjustments of 10.00, whose two items have no breakdowns, with the category that both amounts belong to. */
const trees: readonly (readonly [what: string, category: string, ...tree: Node[]])[] = [
  ['a type beside a wrapper of 0', 'reimbursements', node('Sales', 10, node('SellerRewards', 10)), node('Expenses', 0)],
  ['a type without a wrapper', 'reimbursements', node('SellerRewards', 10)],
  [
    'the parts of a charge',
    'fees',
    node('Sales', 10, node('PostageRefund_Postage', 10, node('Base', 9), node('Tax', 1))),
  ],
  [
    'several types of one category',
    'fees',
    node('Sales', 12, node('PostageRefund_Postage', 12)),
    node('Expenses', -2, node('PostageBilling_SignatureConfirmation', -2)),
  ],
  ['a type below another', 'fees', node('Sales', 10, node('SomethingNew', 10, node('PostageRefund', 10)))],
  ['a type whose kind is known', 'fees', node('Sales', 10, node('AmazonFees', 10, node('SomeFee', 10)))],
  ['types of several categories', 'unknown', node('Sales', 10, node('SellerRewards', 6), node('PostageRefund', 4))],
  [
    'a type that nobody knows beside another',
    'unknown',
    node('Sales', 10, node('SellerRewards', 6), node('SomethingNew', 4)),
  ],
  [
    'an amount without a type beside another',
    'unknown',
    node('Sales', 10, node('SellerRewards', 6), node(undefined, 4)),
  ],
  [
    'a wrapper without types beside another',
    'unknown',
    node('Sales', 12),
    node('Expenses', -2, node('PostageBilling', -2)),
  ],
  ['a tree of another total', 'unknown', node('Sales', 11, node('SellerRewards', 11))],
  ['no tree', 'unknown'],
];

test('an adjustment whose items have no breakdowns belongs to the category that its tree tells', async () => {
  const clock = setClock('2026-11-01T00:00:00Z');
  const total = (currencyAmount: number) => ({ totalAmount: { currencyCode: 'USD', currencyAmount } });
  const all = trees.map(([what, , ...breakdowns]) =>
    JSON.stringify({
      transactionId: what,
      transactionType: 'Adjustment',
      transactionStatus: 'RELEASED',
      postedDate: at(6),
      ...total(10),
      items: [total(7), total(3)],
      breakdowns,
    }),
  );
  const byTransaction = {
    ...arrayTransactions([]),
    transactions: ({ range: { start, end } }: { readonly range: Window }) => {
      const isIn = Date.parse(at(6)) >= start && Date.parse(at(6)) < end;
      return Promise.resolve({ items: isIn ? all.map((json) => ({ list: '', json })) : [], next: undefined });
    },
  };
  const endpoint = await serving({ backend: { ...arrayBackend([]), byTransaction }, clock });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop', from: '2026-10-05', pipelines: ['transactions'] }, { clock });
  const rows = await (
    await database(lake, clock)
  ).rows(
    'SELECT transaction_id AS what, category, amount::VARCHAR AS amount FROM later_amounts ' +
      "JOIN transactions USING (account, event_id) WHERE is_paid AND role = 'net' ORDER BY what, amount DESC",
  );
  expect(rows).toEqual(
    trees
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .flatMap(([what, category]) => ['7.000000', '3.000000'].map((amount) => ({ what, category, amount }))),
  );
});
