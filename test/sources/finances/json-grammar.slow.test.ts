import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { withoutRuns } from '../../core/columns/without-runs.js';
import type { Table, TableBatch } from '../../../src/core/columns/table.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { readResultsPage } from '../../../src/sources/finances/api-2024-06-19/results-page.js';
import { transactionCollector } from '../../../src/sources/finances/api-2024-06-19/transaction-collector.js';
import { transactionEntries, transactions } from '../../../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { eventCollector } from '../../../src/sources/finances/api-v0/collectors.js';
import { readFinancesPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import { entries, events } from '../../../src/sources/finances/api-v0/event-tables.js';
import { rowsOf, type Row } from '../../arrow-rows.js';
import { referenceRows } from '../../reference/flatten.js';
import { grammarClasses, type GrammarCase } from '../../reference/json-grammar.js';
import { isJson } from '../../reference/json-values.js';
import { referenceTransactions } from '../../reference/transactions.js';

const start = Date.parse('2024-03-01T00:00:00Z');
const end = Date.parse('2024-03-08T00:00:00Z');
const subject = {
  windowStart: start,
  windowEnd: end,
  fallback: start,
  clamp: false,
  groupId: undefined,
  requestedOrderId: undefined,
};

interface Rows {
  readonly main: Row[];
  readonly derived: Row[];
}

/** A kind of page: how a result is written, and how a page of them is read, also by the reference. */
interface PageKind {
  readonly result: (day: number, values: { readonly text: string; readonly amount: string }) => string;
  readonly page: (results: string) => string;
  readonly read: (page: Buffer) => Rows;
  readonly reference: (page: string) => Rows;
}

const window = { windowStart: BigInt(start) * 1000n, windowEnd: BigInt(end) * 1000n };

const v0: PageKind = {
  result: (day, { text, amount }) =>
    `{"PostedDate":"2024-03-0${day}T00:00:00Z","AmazonOrderId":${text},"FeeAmount":{"CurrencyCode":"EUR","CurrencyAmount":${amount}}}`,
  page: (results) => `{"payload":{"FinancialEvents":{"ServiceFeeEventList":[${results}]},"NextToken":"next"}}`,
  read: (page) => {
    const collector = eventCollector({ events, entries }, () => '2024-03');
    collector.add({ page: readFinancesPage(page), subject: { ...subject, clamp: true } });
    return rowsIn([...collector.finish()], events, entries);
  },
  reference: (page) => {
    const { events: main, entries: derived } = referenceRows([page], window);
    return { main: main.map((row) => ({ ...row })), derived: derived.map((row) => ({ ...row })) };
  },
};

const later: PageKind = {
  result: (day, { text, amount }) =>
    `{"transactionId":"T${day}","postedDate":"2024-03-0${day}T00:00:00Z","description":${text},"totalAmount":{"currencyCode":"EUR","currencyAmount":${amount}}}`,
  page: (results) => `{"payload":{"transactions":[${results}],"nextToken":"next"}}`,
  read: (page) => {
    const collector = transactionCollector({ events: transactions, entries: transactionEntries }, () => '2024-03');
    collector.add({ page: readResultsPage('listTransactions', page), subject });
    return rowsIn([...collector.finish()], transactions, transactionEntries);
  },
  reference: (page) => {
    const { transactions: main, entries: derived } = referenceTransactions([page], {
      ...window,
      requestedOrderId: null,
    });
    return { main, derived };
  },
};

function rowsIn(batches: readonly TableBatch[], main: Table, derived: Table): Rows {
  const of = (table: Table): Row[] =>
    batches.filter((batch) => batch.table === table).flatMap(({ rows }) => rowsOf(table, withoutRuns(table, rows)));
  return { main: of(main), derived: of(derived) };
}

/** What is wrong with how a page of three results is read whose second one has the case's bytes at a place; undefined where nothing is. */
function faultOf(kind: PageKind, place: 'text' | 'amount', { bytes }: GrammarCase): unknown {
  const [first, second, third] = [1, 2, 3].map((day) =>
    kind.result(day, { text: '"x"', amount: '1.25', ...(day === 2 && { [place]: '\0' }) }),
  );
  const [before = '', behind = ''] = kind.page(`${first},${second},${third}`).split('\0');
  const page = Buffer.concat([Buffer.from(before), bytes, Buffer.from(behind)]);
  let read: Rows;
  try {
    read = kind.read(page);
  } catch (error) {
    if (!(error instanceof LedgerlakeError)) return error;
    const isOneLine = !/[\0-\x1f\x7f]/.test(error.message) && error.message.length < 1000;
    return isOneLine && !isJson(page) ? undefined : error;
  }
  if (isJson(page)) {
    const expected = kind.reference(page.toString());
    return isDeepStrictEqual(read, expected) ? undefined : { read, expected };
  }
  // A page that is no JSON keeps what can be read of it, and nothing is invented.
  const raws = read.main.map(({ raw }) => String(raw));
  const invented = raws.filter((raw) => !isJson(Buffer.from(raw)));
  return invented.length > 0 || raws.at(0) !== first ? raws : undefined;
}

describe.each([
  ['events of v0', v0],
  ['transactions of 2024-06-19', later],
])('a page of %s is read as by the reference, or what can be read of it is', (_, kind) => {
  test.each(Object.entries(grammarClasses))('with %s as a text and as an amount', (_name, cases) => {
    const faults = cases
      .filter(({ depth = 0 }) => depth < 400)
      .flatMap((one) =>
        (['text', 'amount'] as const).flatMap((place) => {
          const fault = faultOf(kind, place, one);
          return fault === undefined ? [] : [{ name: one.name, place, fault }];
        }),
      );
    expect(faults).toEqual([]);
  });
});
