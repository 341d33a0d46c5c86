import type { EventTables } from '../../../../src/sources/finances/model/slice-batches.js';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutRuns } from '../../../core/columns/without-runs.js';
import { sqlType, type Table } from '../../../../src/core/columns/table.js';
import { openDatabase } from '../../../../src/core/duckdb/connection.js';
import { fileLiteral } from '../../../../src/core/duckdb/literals.js';
import { encodeFile } from '../../../../src/core/parquet/encode-file.js';
import { readResultsPage } from '../../../../src/sources/finances/api-2024-06-19/results-page.js';
import { transactionCollector } from '../../../../src/sources/finances/api-2024-06-19/transaction-collector.js';
import {
  orderTransactionEntries,
  orderTransactions,
  transactionEntries,
  transactions,
} from '../../../../src/sources/finances/api-2024-06-19/transaction-tables.js';
import type { Subject } from '../../../../src/sources/finances/model/slice-rows.js';
import { temporaryFolder } from '../../../app/lake-run.js';
import { rowsOf, type Row } from '../../../arrow-rows.js';
import { transactionsPage } from '../../../reference/transaction-pages.js';
import { referenceTransactions, type ReferenceSubject, type Rule } from '../../../reference/transactions.js';

interface Case {
  readonly tables: EventTables;
  readonly subject: Subject;
  readonly reference: ReferenceSubject;
}

const start = Date.parse('2024-03-01T00:00:00Z');
const end = Date.parse('2024-03-08T00:00:00Z');

const byDate: Case = {
  tables: { events: transactions, entries: transactionEntries },
  subject: {
    windowStart: start,
    windowEnd: end,
    fallback: start,
    clamp: false,
    groupId: undefined,
    requestedOrderId: undefined,
  },
  reference: { windowStart: BigInt(start) * 1000n, windowEnd: BigInt(end) * 1000n, requestedOrderId: null },
};
const order = '902-1845936-5435065';
const byOrder: Case = {
  tables: { events: orderTransactions, entries: orderTransactionEntries },
  subject: {
    windowStart: undefined,
    windowEnd: undefined,
    fallback: undefined,
    clamp: false,
    groupId: undefined,
    requestedOrderId: order,
  },
  reference: { windowStart: null, windowEnd: null, requestedOrderId: order },
};

interface Collected {
  readonly transactions: Row[];
  readonly entries: Row[];
  readonly unreconciled: number;
}

function collect({ tables, subject }: Case, pages: readonly string[]) {
  const collector = transactionCollector(tables, () => '2024-03');
  for (const page of pages) {
    collector.add({ page: readResultsPage('listTransactions', Buffer.from(page)), subject });
  }
  return { batches: [...collector.finish()], warnings: collector.warnings };
}

function collected(asked: Case, pages: readonly string[]): Collected {
  const { batches, warnings } = collect(asked, pages);
  const of = (table: Table): Row[] =>
    batches.filter((batch) => batch.table === table).flatMap(({ rows }) => rowsOf(table, withoutRuns(table, rows)));
  const unreconciled = [...(warnings['unreconciled'] ?? new Map<string, number>()).values()];
  return {
    transactions: of(asked.tables.events),
    entries: of(asked.tables.entries),
    unreconciled: unreconciled.reduce((sum, times) => sum + times, 0),
  };
}

/** The reference's rows in the tables' order: by `effective_at`, those without one last, then by receipt. */
function expected({ reference }: Case, pages: readonly string[]): Collected {
  const rows = referenceTransactions(pages, reference);
  const instant = (row: Row): bigint => (typeof row['effective_at'] === 'bigint' ? row['effective_at'] : 2n ** 63n);
  // Sorting is stable: rows come in order of receipt.
  const sorted = rows.transactions.toSorted(
    (a, b) => Number(instant(a) > instant(b)) - Number(instant(a) < instant(b)),
  );
  return {
    transactions: sorted,
    entries: sorted.flatMap(({ event_id: id }) => rows.entries.filter(({ event_id: of }) => of === id)),
    unreconciled: rows.unreconciled,
  };
}

describe.each([
  ['by date', byDate],
  ['by order', byOrder],
])('transactions received %s', (_, asked) => {
  test('become the rows that the slow reference reads from the same bytes', () => {
    fc.assert(
      fc.property(fc.gen(), (draw) => {
        const pages = [transactionsPage(draw), transactionsPage(draw)];
        expect(collected(asked, pages)).toEqual(expected(asked, pages));
      }),
      { numRuns: 75 },
    );
  });

  test('have net amounts that add up to their total, whatever is in them and whichever rule decides', () => {
    const rules = new Map<Rule, number>();
    let [deep, stopped] = [0, 0];
    fc.assert(
      fc.property(fc.gen(), (draw) => {
        const page = transactionsPage(draw);
        const { transactions, entries } = collected(asked, [page]);
        for (const rule of referenceTransactions([page], asked.reference).rules)
          rules.set(rule, (rules.get(rule) ?? 0) + 1);
        for (const { event_id: id, transaction_type: type, total_amount: total, currency } of transactions) {
          if (total === null || type === 'Transfer') continue;
          const net = entries.filter((entry) => entry['event_id'] === id && entry['role'] === 'net');
          const below = ({ path }: Row) => String(path).replace('breakdownAmount', 'breakdowns[].breakdownAmount');
          if (net.some(({ path }) => String(path).split('breakdowns').length > 2)) deep++;
          if (net.some((entry) => entries.some(({ path, role }) => role === 'memo' && path === below(entry))))
            stopped++;
          expect(net.map((entry) => entry['currency'])).toEqual(net.map(() => currency));
          expect(net.reduce((sum, { amount }) => sum + BigInt(String(amount)), 0n)).toBe(total);
        }
      }),
      { numRuns: 300 },
    );
    for (const rule of ['nothing', 'items', 'bare item', 'shared', 'breakdowns', 'total'] as const) {
      expect([rule, (rules.get(rule) ?? 0) > 0]).toEqual([rule, true]);
    }
    expect(Math.min(deep, stopped)).toBeGreaterThan(5);
  });
});

const usd = (amount: string): string => `{"currencyCode":"USD","currencyAmount":${amount}}`;
const node = (type: string, amount: string, ...children: string[]): string =>
  `{"breakdownType":"${type}","breakdownAmount":${usd(amount)},"breakdowns":${children.length > 0 ? `[${children.join(',')}]` : 'null'}}`;
const product = '"contexts":[{"contextType":"ProductContext","sku":"S","asin":"A","quantityShipped":2}]';

/** What counts of one transaction: path, types, name, kind, sku and hundredths of each amount. */
function netOf(transaction: string): unknown[] {
  const { entries } = collected(byDate, [`{"payload":{"transactions":[${transaction}]}}`]);
  return entries
    .filter(({ role }) => role === 'net')
    .map(({ path, breakdown, kind, sku, amount }) => [path, breakdown, kind, sku, Number(amount) / 1e6]);
}

describe('what counts', () => {
  test('are the deepest breakdowns of the items that add up', () => {
    const fees = node('AmazonFees', '-3', node('Commission', '-3', node('Base', '-2.5'), node('Promo', '-0.5')));
    const charges = node('ProductCharges', '13.00', node('OurPricePrincipal', '12'), node('Lost', '0.5'));
    const tree = `"breakdowns":[${(node('Sales', '13'), node('Expenses', '-3'))}]`;
    const item = `{"totalAmount":${usd('10')},${product},"breakdowns":[${charges},${fees}]}`;
    const below = 'items[].breakdowns[]';
    expect(netOf(`{"transactionType":"Shipment","totalAmount":${usd('10')},"items":[${item}],${tree}}`)).toEqual([
      [`${below}.breakdownAmount`, 'ProductCharges', 'charge', 'S', 13],
      [`${below}.breakdowns[].breakdowns[].breakdownAmount`, 'AmazonFees/Commission/Base', 'fee', 'S', -2.5],
      [`${below}.breakdowns[].breakdowns[].breakdownAmount`, 'AmazonFees/Commission/Promo', 'fee', 'S', -0.5],
    ]);
  });

  test('are the breakdowns of the transaction where its only item has none, with its sku', () => {
    const tree = `"breakdowns":{"breakdowns":[${node('Sales', '4', node('FBAInventoryReimbursement', '4'))}]}`;
    const item = `"items":[{"totalAmount":${usd('4')},${product},"breakdowns":[]}]`;
    const type = '"transactionType":"FBAInventoryReimbursement"';
    expect(netOf(`{${type},"totalAmount":${usd('4')},${item},${tree}}`)).toEqual([
      [
        'breakdowns.breakdowns[].breakdowns[].breakdownAmount',
        'Sales/FBAInventoryReimbursement',
        'reimbursement',
        'S',
        4,
      ],
    ]);
    expect(netOf(`{${type},"totalAmount":${usd('4')},${item}}`)).toEqual([
      ['items[].totalAmount', null, 'reimbursement', 'S', 4],
    ]);
  });

  test('is the total where nothing adds up to it, which is counted', () => {
    const page = `{"payload":{"transactions":[{"transactionType":"Refund","totalAmount":${usd('5')},"breakdowns":[${node('Tax', '4.99')}]}]}}`;
    const { batches, warnings } = collect(byDate, [page]);
    expect(batches.map(({ net }) => net)).toEqual([{ USD: '5.000000' }, { USD: '5.000000' }]);
    expect(warnings['unreconciled']).toEqual(new Map([['Refund', 1]]));
  });

  test('is nothing of a transfer to the bank', () => {
    expect(netOf(`{"transactionType":"Transfer","totalAmount":${usd('-500')},"items":null}`)).toEqual([]);
  });

  const total = (amount: string, ...members: string[]) => `{${[`"totalAmount":${usd(amount)}`, ...members].join(',')}}`;
  const items = (...amounts: string[]) => `"items":[${amounts.map((amount) => total(amount, product)).join(',')}]`;
  const breakdown = 'breakdowns[].breakdownAmount';

  test.each<readonly [what: string, transaction: string, net: readonly unknown[]]>([
    [
      'lists that are objects at every level',
      `{"totalAmount":${usd('2')},"items":{"items":{"totalAmount":${usd('2')},"contexts":{"contexts":{"contextType":"ProductContext","sku":"S"}},"breakdowns":{"breakdowns":{"breakdownType":"Tax","breakdownAmount":${usd('2')},"breakdowns":{"breakdowns":[${node('Base', '2')}]}}}}}}`,
      [['items.items.breakdowns.breakdowns.breakdowns.breakdowns[].breakdownAmount', 'Tax/Base', 'charge', 'S', 2]],
    ],
    [
      'null lists',
      total('2', '"items":null', '"contexts":null', '"relatedIdentifiers":null', `"breakdowns":[${node('Tax', '2')}]`),
      [[breakdown, 'Tax', 'charge', null, 2]],
    ],
    [
      'a total of 0 that breaks down',
      total('0', `"breakdowns":[${node('Tax', '5')},${node('Commission', '-5')}]`),
      [
        [breakdown, 'Tax', 'charge', null, 5],
        [breakdown, 'Commission', 'fee', null, -5],
      ],
    ],
    [
      'a total of -0 and its parts of 0',
      total('-0.00', `"breakdowns":[${node('Tax', '0')}]`),
      [[breakdown, 'Tax', 'charge', null, 0]],
    ],
    [
      'numbers with exponents',
      total('1.25e1', `"breakdowns":[${node('Tax', '125E-1', node('Base', '1250e-2'))}]`),
      [['breakdowns[].breakdowns[].breakdownAmount', 'Tax/Base', 'charge', null, 12.5]],
    ],
    [
      'a digit more than a millionth has',
      total('1', `"breakdowns":[${node('Tax', '0.9999999')},${node('Tax', '0.0000001')}]`),
      [['totalAmount', null, 'unknown', null, 1]],
    ],
    [
      'three currencies',
      total(
        '5',
        `"breakdowns":[${node('Tax', '2')},${node('Tax', '2').replace('USD', 'EUR')},${node('Tax', '1').replace('USD', 'GBP')}]`,
      ),
      [['totalAmount', null, 'unknown', null, 5]],
    ],
    [
      'parts of a part in another currency',
      total('5', `"breakdowns":[${node('Tax', '5', node('Base', '5').replace('USD', 'EUR'))}]`),
      [[breakdown, 'Tax', 'charge', null, 5]],
    ],
    [
      'a transfer with breakdowns and items',
      total('-5', '"transactionType":"Transfer"', items('-5'), `"breakdowns":[${node('Transfer', '-5')}]`),
      [],
    ],
    [
      'items that add up but for one, and no breakdowns',
      total('5', items('2', '3', '4')),
      [['totalAmount', null, 'unknown', null, 5]],
    ],
    [
      'items that add up but for one',
      total('5', items('2', '3', '4'), `"breakdowns":[${node('Tax', '5')}]`),
      [[breakdown, 'Tax', 'charge', null, 5]],
    ],
    [
      'an item without breakdowns beside one that has some',
      total('5', `"items":[${total('2')},${total('3', `"breakdowns":[${node('Tax', '3')}]`)}]`),
      [
        ['items[].totalAmount', null, 'unknown', null, 2],
        ['items[].breakdowns[].breakdownAmount', 'Tax', 'charge', null, 3],
      ],
    ],
    ['no total', `{${items('2')},"breakdowns":[${node('Tax', '2')}]}`, []],
    [
      'a total that is a text',
      `{"totalAmount":{"currencyCode":"USD","currencyAmount":"2.00"},${items('"20e-1"')}}`,
      [['items[].totalAmount', null, 'unknown', 'S', 2]],
    ],
    [
      'a total that is a text and no number',
      `{"totalAmount":{"currencyCode":"USD","currencyAmount":"2,00"},${items('2')}}`,
      [['totalAmount', null, 'unknown', null, 0]],
    ],
  ])('of %s', (_what, transaction, net) => {
    expect(netOf(transaction)).toEqual(net);
  });

  test('is what is exact: amounts beyond DECIMAL(18,6) and other currencies never add up', () => {
    const eur = node('Tax', '5').replace('USD', 'EUR');
    const total = ['totalAmount', null, 'unknown', null];
    expect(netOf(`{"totalAmount":${usd('5')},"breakdowns":[${eur}]}`)).toEqual([[...total, 5]]);
    expect(netOf(`{"totalAmount":${usd('1e13')},"breakdowns":[${node('Tax', '1e13')}]}`)).toEqual([[...total, 0]]);
    const most = '999999999999.999999';
    expect(netOf(`{"totalAmount":${usd(most)},"breakdowns":[${node('Tax', most)}]}`)).toHaveLength(1);
  });

  test('is found in time among many breakdowns, deep ones, and many keys', () => {
    const wide = Array.from({ length: 50_000 }, () => node('Tax', '1'));
    let deep = node('Base', '1');
    for (let level = 0; level < 200; level++) deep = node('Tax', '1', deep);
    const keys = Array.from({ length: 50_000 }, (_, at) => `"k${at}":0`);
    const many = [
      `{"totalAmount":${usd('50000')},"breakdowns":[${wide.join(',')}]}`,
      `{"totalAmount":${usd('1')},"breakdowns":[${deep}]}`,
      `{"totalAmount":${usd('1')},${keys.join(',')}}`,
    ];
    const began = performance.now();
    const { batches } = collect(byDate, [`{"payload":{"transactions":[${many.join(',')}]}}`]);
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(batches.map(({ rows }) => rows.numRows)).toEqual([50_001 + 202 + 1, 3]);
    expect(batches[0]?.net).toEqual({ USD: '50002.000000' });
  });
});

test('identifiers that are empty or name nothing known, and odd statuses', () => {
  const related = ['DEFERRED_TRANSACTION_ID', 'SETTLEMENT_ID', 'GIZMO_ID'].map(
    (name, at) => `{"relatedIdentifierName":"${name}","relatedIdentifierValue":"${at === 1 ? 'S-1' : ''}"}`,
  );
  const rest = `"totalAmount":${usd('5')},"relatedIdentifiers":[${related.join(',')}]`;
  const statuses = ['"Released"', '"deferred_Released"', '"Held"', '""', 'null', '7'];
  const sales = statuses.map((status, at) => `{"transactionId":"t${at}","transactionStatus":${status},${rest}}`);
  const { transactions: rows } = collected(byDate, [`{"payload":{"transactions":[${sales.join(',')}]}}`]);
  expect(rows.map(({ status }) => status)).toEqual(['RELEASED', 'DEFERRED_RELEASED', 'HELD', '', null, null]);
  for (const row of rows) expect(row).toMatchObject({ deferred_transaction_id: null, settlement_id: 'S-1' });
});

describe('a transaction that comes again in one answer', () => {
  const page = (...transactions: string[]): string => `{"payload":{"transactions":[${transactions.join(',')}]}}`;
  const sale = (id: string, status: string): string =>
    `{"transactionId":${id},"transactionType":"Shipment","transactionStatus":"${status}","totalAmount":${usd('5')}}`;

  test('counts once, as it came last', () => {
    const pages = [
      page(sale('"a"', 'DEFERRED'), sale('"b"', 'RELEASED')),
      page(sale('"b"', 'RELEASED'), sale('"a"', 'DEFERRED_RELEASED'), sale('"a"', 'DEFERRED_RELEASED')),
    ];
    const { transactions: rows, entries } = collected(byDate, pages);
    expect(rows.map(({ transaction_id: id, status, position }) => [id, status, position])).toEqual([
      ['b', 'RELEASED', 1n],
      ['a', 'DEFERRED_RELEASED', 3n],
    ]);
    expect(entries).toHaveLength(2);
    expect(rows.filter(({ event_id: id }) => /-\d$/.test(String(id)))).toEqual([]);
    expect(collect(byDate, pages).warnings['repeated']).toEqual(new Map([['Shipment', 3]]));
  });

  test('counts each time where it has no id', () => {
    const pages = [page(sale('null', 'RELEASED'), sale('""', 'RELEASED')), page(sale('null', 'RELEASED'))];
    expect(collected(byDate, pages).transactions).toHaveLength(3);
  });
});

test('rows are in Parquet what they are in memory', async () => {
  const tree = `"breakdowns":[${node('Sales', '13.5', node('ProductCharges', '12'), node('Tax', '1.5'))}]`;
  const item = `{"totalAmount":${usd('13.5')},${product},${tree}}`;
  const whole = `{"transactionId":"t","transactionType":"Shipment","transactionStatus":"Deferred","postedDate":"2024-03-02T00:00:00Z","totalAmount":${usd('13.50')},"items":[${item}],${tree},"contexts":[{"contextType":"DeferredContext","deferralReason":"DD7","maturityDate":"2024-03-20T00:00:00Z"}],"relatedIdentifiers":[{"relatedIdentifierName":"ORDER_ID","relatedIdentifierValue":"o"}]}`;
  const { batches } = collect(byDate, [`{"payload":{"transactions":[${whole},{"totalAmount":${usd('1e15')}}]}}`]);
  const folder = await temporaryFolder();
  const database = await openDatabase();
  for (const batch of batches) {
    await writeFile(join(folder, `${batch.table.name}.parquet`), (await encodeFile(batch, new Map())).bytes);
  }
  const from = (table: Table): string => fileLiteral(join(folder, `${table.name}.parquet`));
  const described = await database.rows(`DESCRIBE SELECT * FROM ${from(transactions)}`);
  expect(described.map((column) => [column['column_name'], column['column_type']])).toEqual(
    transactions.columns.map((column) => [column.name, sqlType(column)]),
  );
  expect(
    await database.rows(
      `SELECT transaction_id, status, total_amount::VARCHAR AS total, total_text, amazon_order_id, deferral_reason,
        maturity_at = TIMESTAMPTZ '2024-03-20T00:00:00Z' AS matures, posted_at IS NULL AS undated FROM ${from(transactions)} ORDER BY position`,
    ),
  ).toEqual([
    {
      transaction_id: 't',
      status: 'DEFERRED',
      total: '13.500000',
      total_text: null,
      amazon_order_id: 'o',
      deferral_reason: 'DD7',
      matures: true,
      undated: false,
    },
    {
      transaction_id: null,
      status: null,
      total: null,
      total_text: '1e15',
      amazon_order_id: null,
      deferral_reason: null,
      matures: null,
      undated: true,
    },
  ]);
  expect(
    await database.rows(
      `SELECT breakdown, name, sku, quantity::INTEGER AS quantity, kind, amount::VARCHAR AS amount FROM ${from(transactionEntries)}
        WHERE role = 'net' AND transaction_id = 't' ORDER BY entry`,
    ),
  ).toEqual([
    {
      breakdown: 'Sales/ProductCharges',
      name: 'ProductCharges',
      sku: 'S',
      quantity: 2,
      kind: 'charge',
      amount: '12.000000',
    },
    { breakdown: 'Sales/Tax', name: 'Tax', sku: 'S', quantity: 2, kind: 'charge', amount: '1.500000' },
  ]);
  database.close();
});
