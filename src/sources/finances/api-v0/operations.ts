import { dayMs } from '../../../core/windows.js';

/**
 * The service's four operations as one table (specification, sections 4 and 8). The client builds its URLs from it and
 * the service its routes and checks, so that the two cannot drift.
 */
export type OperationName =
  'ListFinancialEventGroups' | 'ListFinancialEvents' | 'ListFinancialEventsByGroupId' | 'ListFinancialEventsByOrderId';

export interface DateRange {
  /** Query parameter of the inclusive lower bound. */
  readonly after: string;
  /** Query parameter of the exclusive upper bound. */
  readonly before: string;
  /** Whether `after` must be given whenever `before` is. */
  readonly beforeNeedsAfter: boolean;
  /** Whether a missing `before` means now less the margin. */
  readonly beforeDefaultsToNow: boolean;
}

export interface PathParameter {
  readonly name: string;
  /** Pattern of valid values; undefined: any non-empty string. */
  readonly pattern: RegExp | undefined;
  /** The pattern in words. */
  readonly format: string;
}

export interface Operation {
  readonly name: OperationName;
  /** Path with the path parameter in braces. */
  readonly path: string;
  readonly pathParameter: PathParameter | undefined;
  readonly range: DateRange | undefined;
  /** Member of the payload that holds the page's results. */
  readonly result: 'FinancialEventGroupList' | 'FinancialEvents';
}

/** Three digits, seven digits, seven digits (specification, section 2). */
export const orderIdPattern = /^\d{3}-\d{7}-\d{7}$/;

export const operations = {
  ListFinancialEventGroups: {
    name: 'ListFinancialEventGroups',
    path: '/finances/v0/financialEventGroups',
    pathParameter: undefined,
    range: {
      after: 'FinancialEventGroupStartedAfter',
      before: 'FinancialEventGroupStartedBefore',
      beforeNeedsAfter: false,
      beforeDefaultsToNow: false,
    },
    result: 'FinancialEventGroupList',
  },
  ListFinancialEvents: {
    name: 'ListFinancialEvents',
    path: '/finances/v0/financialEvents',
    pathParameter: undefined,
    range: { after: 'PostedAfter', before: 'PostedBefore', beforeNeedsAfter: true, beforeDefaultsToNow: true },
    result: 'FinancialEvents',
  },
  ListFinancialEventsByGroupId: {
    name: 'ListFinancialEventsByGroupId',
    path: '/finances/v0/financialEventGroups/{eventGroupId}/financialEvents',
    pathParameter: { name: 'eventGroupId', pattern: undefined, format: 'an event group id' },
    range: { after: 'PostedAfter', before: 'PostedBefore', beforeNeedsAfter: true, beforeDefaultsToNow: true },
    result: 'FinancialEvents',
  },
  ListFinancialEventsByOrderId: {
    name: 'ListFinancialEventsByOrderId',
    path: '/finances/v0/orders/{orderId}/financialEvents',
    pathParameter: { name: 'orderId', pattern: orderIdPattern, format: '3-7-7 digits, such as 902-1845936-5435065' },
    range: undefined,
    result: 'FinancialEvents',
  },
} as const satisfies Record<OperationName, Operation>;

/** Limits that all four operations share (specification, section 8; the page's maximum is the public model's). */
export const limits = {
  /** Requests a second, for each operation. */
  rate: 0.5,
  /** Requests at once, for each operation. */
  burst: 30,
  /** Default and maximum of MaxResultsPerPage. */
  pageSize: 100,
  /** Maximal distance of the two date bounds; beyond it the answer is empty. */
  maxSpanMs: 180 * dayMs,
  /** Minimal age of a date bound at the request. */
  marginMs: 2 * 60_000,
} as const;
