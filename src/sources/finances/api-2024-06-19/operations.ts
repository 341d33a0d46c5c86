import { dayMs } from '../../../core/windows.js';

/**
 * The operations of Finances 2024-06-19, and the listing of payouts (Transfers 2024-06-01), as one table. The client
 * builds its URLs from it and the service its routes and checks, so that the two cannot drift.
 */
export type OperationName = 'listTransactions' | 'listSummary' | 'listPayouts';

export interface DateRange {
  /** Query parameter of the lower bound, which is included. */
  readonly after: string;
  /** Query parameter of the upper bound. */
  readonly before: string;
  /** What the bounds are: instants, of which the upper one is excluded, or dates, both of which are included. */
  readonly bounds: 'instants' | 'dates';
  /** Whether a missing `before` means now less the margin. */
  readonly beforeDefaultsToNow: boolean;
  /** The bounds may be this far apart, milliseconds; beyond it the answer is empty. */
  readonly maxSpanMs: number;
  /** Both bounds must be earlier than this long before the request, milliseconds; undefined: they may be any. */
  readonly marginMs: number | undefined;
}

export interface Operation {
  readonly name: OperationName;
  readonly path: string;
  readonly range: DateRange;
  /**
   * Values that `relatedIdentifierName` may have; empty: the operation has no related identifier. A request names
   * `relatedIdentifierValue` too, or neither.
   */
  readonly relatedIdentifiers: readonly string[];
  /** Query parameters besides range, related identifier and `nextToken`. */
  readonly filters: readonly string[];
  /** Whether an answer is `{"payload":{…}}`; else its members are at the top. */
  readonly hasPayload: boolean;
  /** Member that lists the page's results, beside `nextToken`. */
  readonly result: 'transactions' | 'summaries' | 'payouts';
}

/** Limits that all operations share. None has a parameter for the size of a page. */
export const limits = {
  /** Requests a second, for each operation. */
  rate: 0.5,
  /** Requests at once, for each operation. */
  burst: 10,
  /** Results a page, at most. */
  pageSize: 500,
  /** The bounds of posted dates may be this far apart; beyond it the answer is empty. */
  maxSpanMs: 180 * dayMs,
  /** Bounds of posted dates are earlier than this long before the request. */
  marginMs: 2 * 60_000,
} as const;

/** What `transactionStatus` may ask for. Answers have been seen in mixed case. */
export const transactionStatuses = ['DEFERRED', 'RELEASED', 'DEFERRED_RELEASED'] as const;

/** Names of the parameters that operations share. */
export const parameters = {
  relatedIdentifierName: 'relatedIdentifierName',
  relatedIdentifierValue: 'relatedIdentifierValue',
  transactionStatus: 'transactionStatus',
  nextToken: 'nextToken',
} as const;

export const operations = {
  listTransactions: {
    name: 'listTransactions',
    path: '/finances/2024-06-19/transactions',
    range: {
      after: 'postedAfter',
      before: 'postedBefore',
      bounds: 'instants',
      beforeDefaultsToNow: true,
      maxSpanMs: limits.maxSpanMs,
      marginMs: limits.marginMs,
    },
    relatedIdentifiers: ['FINANCIAL_EVENT_GROUP_ID', 'ORDER_ID'],
    filters: ['marketplaceId', parameters.transactionStatus],
    hasPayload: true,
    result: 'transactions',
  },
  listSummary: {
    name: 'listSummary',
    path: '/finances/2024-06-19/summary',
    range: {
      after: 'periodStart',
      before: 'periodEnd',
      bounds: 'dates',
      beforeDefaultsToNow: false,
      maxSpanMs: Infinity,
      marginMs: undefined,
    },
    relatedIdentifiers: ['SETTLEMENT_ID'],
    filters: ['marketplaceIds', 'accountType'],
    hasPayload: false,
    result: 'summaries',
  },
  listPayouts: {
    name: 'listPayouts',
    path: '/finances/transfers/2024-06-01/payouts',
    range: {
      after: 'createdAfter',
      before: 'createdBefore',
      bounds: 'instants',
      beforeDefaultsToNow: false,
      maxSpanMs: Infinity,
      marginMs: undefined,
    },
    relatedIdentifiers: [],
    filters: ['marketplaceIds', 'accountType', 'payoutId'],
    hasPayload: false,
    result: 'payouts',
  },
} as const satisfies Record<OperationName, Operation>;
