import { dayMs } from '../../../core/windows.js';
import type { ApiOperation, DateRange, FinancesApi } from '../selling-partner/finances-api.js';

/**
 * The operations of Finances 2024-06-19, and the listing of payouts (Transfers 2024-06-01), as one table. The client
 * builds its URLs from it and the service its routes and checks, so that the two cannot drift.
 */
export type TransactionOperationName = 'listTransactions' | 'listSummary' | 'listPayouts';

interface TransactionRange extends DateRange {
  /** The type of the bounds: instants (upper one exclusive), or dates (both inclusive). */
  readonly bounds: 'instants' | 'dates';
  /** Maximal distance of the bounds, in milliseconds; beyond it the answer is empty. */
  readonly maxSpanMs: number;
}

export interface TransactionOperation extends ApiOperation {
  readonly name: TransactionOperationName;
  readonly range: TransactionRange;
  /**
   * Valid values of `relatedIdentifierName`; empty: the operation has no related identifier. A request has both
   * `relatedIdentifierName` and `relatedIdentifierValue`, or neither.
   */
  readonly relatedIdentifiers: readonly string[];
  /** Whether an answer is `{"payload":{…}}`; otherwise its members are at the top level. */
  readonly hasPayload: boolean;
  /** Member with the page's results, beside `nextToken`. */
  readonly result: 'transactions' | 'summaries' | 'payouts';
}

/** Limits of all operations; those of dates apply to posted ones. None has a parameter for the page size. */
export const transactionLimits = {
  rate: 0.5,
  burst: 10,
  pageSize: 500,
  maxSpanMs: 180 * dayMs,
  marginMs: 2 * 60_000,
} as const satisfies FinancesApi['limits'];

/** Values of `transactionStatus`. Answers have been observed in mixed case. */
export const transactionStatuses = ['DEFERRED', 'RELEASED', 'DEFERRED_RELEASED'] as const;

/** Names of the parameters that operations share. */
export const parameters = {
  relatedIdentifierName: 'relatedIdentifierName',
  relatedIdentifierValue: 'relatedIdentifierValue',
  transactionStatus: 'transactionStatus',
  nextToken: 'nextToken',
} as const;

const relatedParameters = [parameters.relatedIdentifierName, parameters.relatedIdentifierValue] as const;

/** A range of any length and age. */
const unlimited = { beforeDefaultsToNow: false, maxSpanMs: Infinity, marginMs: undefined } as const;

export const transactionOperations = {
  listTransactions: {
    name: 'listTransactions',
    path: '/finances/2024-06-19/transactions',
    range: {
      after: 'postedAfter',
      before: 'postedBefore',
      bounds: 'instants',
      beforeDefaultsToNow: true,
      maxSpanMs: transactionLimits.maxSpanMs,
      marginMs: transactionLimits.marginMs,
    },
    relatedIdentifiers: ['FINANCIAL_EVENT_GROUP_ID', 'ORDER_ID'],
    parameters: [...relatedParameters, 'marketplaceId', parameters.transactionStatus],
    hasPayload: true,
    result: 'transactions',
  },
  listSummary: {
    name: 'listSummary',
    path: '/finances/2024-06-19/summary',
    range: { after: 'periodStart', before: 'periodEnd', bounds: 'dates', ...unlimited },
    relatedIdentifiers: ['SETTLEMENT_ID'],
    parameters: [...relatedParameters, 'marketplaceIds', 'accountType'],
    hasPayload: false,
    result: 'summaries',
  },
  listPayouts: {
    name: 'listPayouts',
    path: '/finances/transfers/2024-06-01/payouts',
    range: { after: 'createdAfter', before: 'createdBefore', bounds: 'instants', ...unlimited },
    relatedIdentifiers: [],
    parameters: ['marketplaceIds', 'accountType', 'payoutId'],
    hasPayload: false,
    result: 'payouts',
  },
} as const satisfies Record<TransactionOperationName, TransactionOperation>;
