import { JsonNode } from '../../records/json-node.js';
import type { RecordPage } from '../../records/record-collector.js';
import type { Subject } from '../model/slice-rows.js';
import type { TransactionsPage } from './transaction-collector.js';
import { isoDate, isoInstant } from '../../../core/numeric/instant.js';
import type { SliceVerdict } from '../../../engine/retry/causes.js';
import { readVerdict } from '../../../engine/retry/read-failure.js';
import type { Reading } from '../../../engine/run/pipeline.js';
import {
  commonApi,
  refusedQuery,
  type ApiQuery,
  type FinancesApi,
  type FinancesApiOptions,
  type FinancesReader,
  type PagedFinancesApi,
} from '../selling-partner/finances-api.js';
import { financesRefusal } from '../selling-partner/refusals.js';
import { subjectPages } from '../selling-partner/subject-ids.js';
import {
  transactionLimits,
  transactionOperations,
  parameters as names,
  type TransactionOperation,
  type TransactionOperationName,
} from './operations.js';
import { eachResult, readResultsPage, type ResultsPage } from './results-page.js';
import { transactionDerivation } from './transaction-derivation.js';
import {
  orderTransactionEntries,
  orderTransactions,
  payouts,
  settlementSummaries,
  transactionEntries,
  transactions,
} from './transaction-tables.js';

type TransactionQuery = ApiQuery<TransactionOperationName>;

/** An upstream that has this API. */
export interface WithFinances20240619 {
  readonly '2024-06-19': FinancesReader<TransactionQuery, ResultsPage>;
}

/**
 * Finances 2024-06-19, with the listing of payouts (Transfers 2024-06-01). It has no page size, so a query that is too large needs a
 * shorter window; its pages have no order, so a lost cursor isn't recovered.
 */
export const finances20240619 = {
  name: '2024-06-19',
  title: 'Finances 2024-06-19',
  operations: transactionOperations,
  limits: transactionLimits,
  tables: [transactions, transactionEntries, orderTransactions, orderTransactionEntries, settlementSummaries, payouts],
  derivation: transactionDerivation,
  figures: { events: transactions.name, amounts: 'transaction_amounts' },
  paged,
} as const satisfies FinancesApi;

function paged(options: FinancesApiOptions): PagedFinancesApi<TransactionQuery, ResultsPage> {
  const { prefix, common } = commonApi(
    options,
    { operations: transactionOperations, limits: transactionLimits },
    (page: ResultsPage, visit) => {
      eachResult(page, (node) => {
        visit('', node);
      });
    },
  );
  return {
    ...common,
    id: `${String(options.endpoint)} ${finances20240619.name}`,
    pageSizes: [transactionLimits.pageSize],
    isTooLargeWhereFaultLasts: true,
    request: (query, cursor) => ({ path: prefix + requestPath(query, cursor) }),
    readPage: ({ operation }, { body, headers }) => readResultsPage(operation, body, headers),
    refusal: (query, answer) => {
      const hasSubject = query.parameters[names.relatedIdentifierValue] !== undefined;
      return financesRefusal(
        refusedQuery(transactionOperations[query.operation], query, [names.nextToken], hasSubject),
        answer,
      );
    },
  };
}

/** Path and query of a page: the token is sent with all parameters of the first request, and is encoded once. */
function requestPath({ operation, parameters }: TransactionQuery, cursor: string | undefined): string {
  const { path, range }: TransactionOperation = transactionOperations[operation];
  const instant = range.bounds === 'dates' ? isoDate : isoInstant;
  const text = (value: string | number): string => (typeof value === 'number' ? instant(value) : value);
  const query = Object.entries({ ...parameters, [names.nextToken]: cursor }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(text(value))}`],
  );
  return `${path}?${query.join('&')}`;
}

/** The verdict on a slice that failed with an error. Without a page size, one that is too large is split. */
export function transactionsVerdict(error: unknown): SliceVerdict {
  return readVerdict(error, { 'too-large': 'split', unreadable: 'split' });
}

/** The transactions of bodies as pages of one subject. */
export async function* storedPages(
  subject: Subject,
  bodies: () => Promise<readonly Uint8Array[]>,
): AsyncGenerator<TransactionsPage> {
  for (const body of await bodies()) yield { page: readResultsPage('listTransactions', body), subject };
}

/** The query for the results of an identifier, such as an order's transactions. */
export function relatedQuery(operation: TransactionOperationName, name: string, value: string): TransactionQuery {
  return { operation, parameters: { [names.relatedIdentifierName]: name, [names.relatedIdentifierValue]: value } };
}

/** The summary of a settlement; throws what `subjectPages` throws. */
export function summaryPages(settlement: string, reading: Reading<WithFinances20240619>): AsyncIterable<RecordPage> {
  return subjectPages({
    id: settlement,
    inPath: false,
    refusalText: (why) => `expected a settlement id that can be requested, but ${why}; a transaction has it`,
    pages: () => recordPages(relatedQuery('listSummary', 'SETTLEMENT_ID', settlement), reading),
  });
}

/** The pages of a query as records. */
export async function* recordPages(
  query: TransactionQuery,
  reading: Reading<WithFinances20240619>,
): AsyncGenerator<RecordPage> {
  for await (const page of reading.upstream['2024-06-19'].pages(query, reading)) {
    const records: JsonNode[] = [];
    eachResult(page, (node) => records.push(new JsonNode(page.tape, node)));
    yield { ...page, records };
  }
}
