import { dayMs } from '../../../core/windows.js';

/**
 * The operations of Finances 2024-06-19, and the listing of payouts (Transfers 2024-06-01), as one table. The client
 * builds its URLs from it and the service its routes and checks, so that the two cannot drift.
 */
export type OperationName = 'listTransactions' | 'listSummary' | 'listPayouts';

interface DateRange {
  /** Query parameter of the inclusive lower bound. */
  readonly after: string;
  /** Query parameter of the upper bound. */
  readonly before: string;
  /** The type of the bounds: instants (upper one exclusive), or dates (both inclusive). */
  readonly bounds: 'instants' | 'dates';
  /** Whether a missing `before` means now less the margin. */
  readonly beforeDefaultsToNow: boolean;
  /** Maximal distance of the bounds, in milliseconds; beyond it the answer is empty. */
  readonly maxSpanMs: number;
  /** Minimal age of both bounds at the request, in milliseconds; undefined: no limit. */
  readonly marginMs: number | undefined;
}

export interface Operation {
  readonly name: OperationName;
  readonly path: string;
  readonly range: DateRange;
  /**
   * Valid values of `relatedIdentifierName`; empty: the operation has no related identifier. A request has both
   * `relatedIdentifierName` and `relatedIdentifierValue`, or neither.
   */
  readonly relatedIdentifiers: readonly string[];
  /** Query parameters besides range, related identifier and `nextToken`. */
  readonly filters: readonly string[];
  /** Whether an answer is `{"payload":{…}}`; otherwise its members are at the top level. */
  readonly hasPayload: boolean;
  /** Member with the page's results, beside `nextToken`. */
  readonly result: 'transactions' | 'summaries' | 'payouts';
}

/** Limits of all operations. None has a parameter for the page size. */
export const limits = {
  /** Requests a second, for each operation. */
  rate: 0.5,
  /** Requests at once, for each operation. */
  burst: 10,
  /** Results a page, at most. */
  pageSize: 500,
  /** Maximal distance of posted dates; beyond it the answer is empty. */
  maxSpanMs: 180 * dayMs,
  /** Minimal age of posted dates at the request. */
  marginMs: 2 * 60_000,
} as const;

/** Values of `transactionStatus`. Answers have been observed in mixed case. */
export const transactionStatuses = ['DEFERRED', 'RELEASED', 'DEFERRED_RELEASED'] as const;

/** Names of the parameters that operations share. */
export const parameters = {
  relatedIdentifierName: 'relatedIdentifierName',
  relatedIdentifierValue: 'relatedIdentifierValue',
  transactionStatus: 'transactionStatus',
  nextToken: 'nextToken',
} as const;

/** A range of any length and age. */
const unlimited = { beforeDefaultsToNow: false, maxSpanMs: Infinity, marginMs: undefined } as const;

export const operations = {
  listTransactions: {
    name: 'listTransactions',
    path: '/finances/2024-06-19/transactions',
    range: {
      ...{ after: 'postedAfter', before: 'postedBefore', bounds: 'instants' },
      ...{ beforeDefaultsToNow: true, maxSpanMs: limits.maxSpanMs, marginMs: limits.marginMs },
    },
    relatedIdentifiers: ['FINANCIAL_EVENT_GROUP_ID', 'ORDER_ID'],
    filters: ['marketplaceId', parameters.transactionStatus],
    hasPayload: true,
    result: 'transactions',
  },
  listSummary: {
    name: 'listSummary',
    path: '/finances/2024-06-19/summary',
    range: { after: 'periodStart', before: 'periodEnd', bounds: 'dates', ...unlimited },
    relatedIdentifiers: ['SETTLEMENT_ID'],
    filters: ['marketplaceIds', 'accountType'],
    hasPayload: false,
    result: 'summaries',
  },
  listPayouts: {
    name: 'listPayouts',
    path: '/finances/transfers/2024-06-01/payouts',
    range: { after: 'createdAfter', before: 'createdBefore', bounds: 'instants', ...unlimited },
    relatedIdentifiers: [],
    filters: ['marketplaceIds', 'accountType', 'payoutId'],
    hasPayload: false,
    result: 'payouts',
  },
} as const satisfies Record<OperationName, Operation>;
