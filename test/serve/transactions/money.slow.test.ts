import { describe, expect, test } from 'vitest';
import { isObject, type JsonObject, moneyOf, textOf } from '../../emulator/seller/reading.js';
import {
  day,
  identifier,
  idOf,
  isPaid,
  isTransfer,
  iso,
  listIn,
  micros,
  pages,
  paths,
  payloadOf,
  start,
  startSeller,
  statusOf,
  sum,
  totalOf,
  transactionsOf,
  v0Events,
  v0Payloads,
  type SellerServer,
} from './seller-server.js';

const ages = { postedAfter: iso(start - 170 * day) };

function addTo(sums: Map<string, bigint>, key: string | undefined, amount: bigint): void {
  if (key !== undefined) sums.set(key, (sums.get(key) ?? 0n) + amount);
}

/** What v0 has of each order, the orders without a net of 0. */
async function v0Orders(server: SellerServer): Promise<Map<string, bigint>> {
  const sums = new Map<string, bigint>();
  for (const { event, net } of await v0Events(server, '/finances/v0/financialEvents', {
    PostedAfter: ages.postedAfter,
  })) {
    const names = ['AmazonOrderId', 'OrderId', 'TDSOrderId', 'OriginalRemovalOrderId'];
    const id = names.map((name) => event[name]).find((value) => typeof value === 'string');
    addTo(sums, id, net);
  }
  return sums;
}

async function v0Groups(server: SellerServer): Promise<readonly JsonObject[]> {
  const payloads = await v0Payloads(server, '/finances/v0/financialEventGroups', {});
  return payloads.flatMap((payload) => listIn(payload, 'FinancialEventGroupList'));
}

describe.each(['plausible', 'edge-cases'] as const)('over a %s seller', (profile) => {
  test('orders have the same money as in v0', async () => {
    const server = await startSeller({ profile });
    const orders = new Map<string, bigint>();
    for (const transaction of (await transactionsOf(server, ages)).filter(isPaid)) {
      addTo(orders, identifier(transaction, 'ORDER_ID'), totalOf(transaction));
    }
    expect(orders.size).toBeGreaterThan(500);
    expect(orders).toEqual(await v0Orders(server));
  });

  test('settlements have the same money as in v0, in transactions and in their summary', async () => {
    const server = await startSeller({ profile });
    const groups = await v0Groups(server);
    expect(groups.length).toBeGreaterThan(25);
    for (const group of groups) {
      const id = textOf(group['FinancialEventGroupId']);
      const related = { relatedIdentifierName: 'FINANCIAL_EVENT_GROUP_ID', relatedIdentifierValue: id };
      const transactions = await transactionsOf(server, related);
      const expected = moneyOf(group['OriginalTotal']) - moneyOf(group['BeginningBalance']);
      expect(sum(transactions.filter(isPaid).map(totalOf))).toBe(expected);
      const [settlement = ''] = transactions.map((one) => identifier(one, 'SETTLEMENT_ID'));
      const byId = { relatedIdentifierName: 'SETTLEMENT_ID', relatedIdentifierValue: settlement };
      const summaries = listIn(payloadOf(await server.get(paths.summary, byId)), 'summaries');
      expect(summaries.map((summary) => micros(summary['netProceeds']))).toEqual([expected]);
      const transferred = transactions.filter(isTransfer).map(totalOf);
      const isPaidOut = group['FundTransferStatus'] === 'Succeeded' && moneyOf(group['OriginalTotal']) > 0n;
      const sign = profile === 'plausible' ? -1n : 1n;
      expect(transferred).toEqual(isPaidOut ? [sign * moneyOf(group['OriginalTotal'])] : []);
    }
  });

  test('every tree adds up, level by level', async () => {
    const transactions = await transactionsOf(await startSeller({ profile }), ages);
    let leaves = 0;
    const check = (node: JsonObject, total: string) => {
      const children = listIn(node, 'breakdowns');
      if (children.length === 0) leaves += 1;
      else expect(sum(children.map((child) => micros(child['breakdownAmount'])))).toBe(micros(node[total]));
      for (const child of children) check(child, 'breakdownAmount');
    };
    let itemized = 0;
    for (const transaction of transactions) {
      check(transaction, 'totalAmount');
      const items = listIn(transaction, 'items');
      for (const item of items) check(item, 'totalAmount');
      if (items.length > 0 && sum(items.map(totalOf)) === totalOf(transaction)) itemized += 1;
      else if (items.length > 0) expect(profile).toBe('edge-cases');
    }
    expect(leaves).toBeGreaterThan(5000);
    expect(itemized / transactions.length).toBeGreaterThan(0.6);
  });
});

test('a share of the sales is deferred, and nothing else', async () => {
  const transactions = await transactionsOf(await startSeller(), ages);
  const sales = transactions.filter((one) => one['transactionType'] === 'Shipment' && statusOf(one) !== 'DEFERRED');
  const counts = (status: string) => sales.filter((one) => statusOf(one) === status).length;
  const deferred = counts('DEFERRED_RELEASED');
  expect(deferred / counts('RELEASED')).toBeGreaterThan(0.7);
  expect(deferred / counts('RELEASED')).toBeLessThan(0.8);
  const others = transactions.filter((one) => one['transactionType'] !== 'Shipment');
  expect(new Set(others.map(statusOf))).toEqual(new Set(['RELEASED']));
});

test('the exceptions that are known are there', async () => {
  const transactions = await transactionsOf(await startSeller({ events: 4000 }), ages);
  const ofType = (type: string) => transactions.filter((one) => one['transactionType'] === type);
  for (const reimbursement of ofType('FBAInventoryReimbursement')) {
    const items = listIn(reimbursement, 'items');
    expect(items.length).toBeGreaterThan(0);
    expect(items.flatMap((item) => listIn(item, 'breakdowns'))).toEqual([]);
    expect(sum(items.map(totalOf))).toBe(totalOf(reimbursement));
  }
  expect(ofType('FBAInventoryReimbursement').length).toBeGreaterThan(5);
  for (const flat of [...ofType('ServiceFee'), ...ofType('Transfer')]) {
    expect(listIn(flat, 'items')).toEqual([]);
    const wrappers = listIn(flat, 'breakdowns').map((node) => micros(node['breakdownAmount']));
    expect(wrappers).toContain(0n);
  }
  const nothing = ofType('Retrocharge').filter((one) => totalOf(one) === 0n);
  expect(nothing.length).toBeGreaterThan(0);
});

describe('a deferred sale', () => {
  test('is released in place, and once more on the day of its release', async () => {
    const server = await startSeller();
    const first = await transactionsOf(server, ages);
    server.clock.move(10 * day);
    const later = new Map((await transactionsOf(server, ages)).map((one) => [idOf(one), one]));
    const deferred = first.filter((one) => statusOf(one) === 'DEFERRED');
    expect(deferred.length).toBeGreaterThan(50);
    for (const before of deferred) {
      const after = later.get(idOf(before)) ?? {};
      expect(statusOf(after)).toBe('DEFERRED_RELEASED');
      expect(identifier(before, 'SETTLEMENT_ID')).toBeUndefined();
      expect(after['postedDate']).toBe(before['postedDate']);
      const release = later.get(identifier(after, 'RELEASE_TRANSACTION_ID') ?? '') ?? {};
      expect(statusOf(release)).toBe('RELEASED');
      expect(identifier(release, 'DEFERRED_TRANSACTION_ID')).toBe(idOf(before));
      expect(identifier(release, 'SETTLEMENT_ID')).toMatch(/^\d{11}$/);
      expect(release['items']).toEqual(before['items']);
      expect(release['breakdowns']).toEqual(before['breakdowns']);
      expect(totalOf(release)).toBe(totalOf(before));
      const [context = {}] = listIn(before, 'contexts');
      expect(context['maturityDate']).toBe(release['postedDate']);
      const wait = Date.parse(textOf(release['postedDate'])) - Date.parse(textOf(before['postedDate']));
      expect(wait).toBeGreaterThanOrEqual(5 * day);
      expect(wait).toBeLessThanOrEqual(9 * day);
    }
  });

  test('and all else is the same ten days later', async () => {
    const server = await startSeller();
    const query = { ...ages, postedBefore: iso(start - 3 * day) };
    const first = await transactionsOf(server, query);
    server.clock.move(10 * day);
    const later = new Map((await transactionsOf(server, query)).map((one) => [idOf(one), one]));
    const old = Date.parse('2025-04-10');
    const compared = first.filter((one) => Date.parse(textOf(one['postedDate'])) > old);
    expect(compared.length).toBeGreaterThan(800);
    for (const one of compared) {
      if (statusOf(one) !== 'DEFERRED') expect(later.get(idOf(one))).toEqual(one);
      else expect(later.has(idOf(one))).toBe(true);
    }
  });
});

test('payouts are the transfers, the newest first', async () => {
  const server = await startSeller();
  const payouts = (await pages(server, paths.payouts, {})).flatMap((answer) => listIn(payloadOf(answer), 'payouts'));
  const created = payouts.map((payout) => Date.parse(textOf(payout['creationDate'])));
  expect(created).toEqual(created.toSorted((a, b) => b - a));
  const transfers = (await transactionsOf(server, ages)).filter(isTransfer);
  const paid = payouts.filter((payout) => payout['currentStatus'] === 'PAID');
  const sums = (list: readonly JsonObject[], amount: (one: JsonObject) => bigint) =>
    new Map(list.map((one) => [identifier(one, 'SETTLEMENT_ID'), amount(one)]));
  expect(paid.length).toBeGreaterThan(20);
  expect(sums(paid, (one) => micros(one['amount']))).toEqual(sums(transfers, (one) => -totalOf(one)));
  const [newest = {}] = payouts;
  const asked = await server.get(paths.payouts, { payoutId: textOf(newest['id']) });
  expect(listIn(payloadOf(asked), 'payouts')).toEqual([newest]);
});

test('a summary of a period has both of its days, for each marketplace', async () => {
  const server = await startSeller();
  const query = { periodStart: '2025-05-10', periodEnd: '2025-05-12' };
  const summaries = listIn(payloadOf(await server.get(paths.summary, query)), 'summaries');
  const range = { postedAfter: '2025-05-10', postedBefore: '2025-05-13' };
  const paid = (await transactionsOf(server, range)).filter(isPaid);
  const sums = new Map<string, bigint>();
  for (const one of paid) {
    const money = one['totalAmount'];
    addTo(sums, isObject(money) ? textOf(money['currencyCode']) : '', totalOf(one));
  }
  expect(summaries).toHaveLength(6);
  for (const summary of summaries) {
    const money = summary['netProceeds'];
    expect(micros(money)).toBe(sums.get(isObject(money) ? textOf(money['currencyCode']) : '') ?? 0n);
  }
});
