import { dayMs } from '../../../core/windows.js';
import type { ApiOperation, DateRange, FinancesApi } from '../selling-partner/finances-api.js';

/**
 * The service's four operations as one table (specification, sections 4 and 8). The client builds its URLs from it and
 * the service its routes and checks, so that the two cannot drift.
 */
export type EventOperationName =
  'ListFinancialEventGroups' | 'ListFinancialEvents' | 'ListFinancialEventsByGroupId' | 'ListFinancialEventsByOrderId';

/** A range, whose upper bound is exclusive. */
export interface EventRange extends DateRange {
  /** Whether `after` must be given whenever `before` is. */
  readonly beforeNeedsAfter: boolean;
}

export interface PathParameter {
  readonly name: string;
  /** Pattern of valid values; undefined: any non-empty string. */
  readonly pattern: RegExp | undefined;
  /** The pattern in words. */
  readonly format: string;
}

export interface EventOperation extends ApiOperation {
  readonly name: EventOperationName;
  readonly pathParameter: PathParameter | undefined;
  readonly range: EventRange | undefined;
  /** Member of the payload that holds the page's results. */
  readonly result: 'FinancialEventGroupList' | 'FinancialEvents';
}

/** Three digits, seven digits, seven digits (specification, section 2). */
export const orderIdPattern = /^\d{3}-\d{7}-\d{7}$/;

/** Limits that all four operations share (specification, section 8; the page's maximum is the public model's). */
export const eventLimits = {
  rate: 0.5,
  burst: 30,
  /** Also the default of MaxResultsPerPage. */
  pageSize: 100,
  maxSpanMs: 180 * dayMs,
  marginMs: 2 * 60_000,
} as const satisfies FinancesApi['limits'];

const postedRange = {
  after: 'PostedAfter',
  before: 'PostedBefore',
  beforeNeedsAfter: true,
  beforeDefaultsToNow: true,
  marginMs: eventLimits.marginMs,
} as const;

export const eventOperations = {
  ListFinancialEventGroups: {
    name: 'ListFinancialEventGroups',
    path: '/finances/v0/financialEventGroups',
    pathParameter: undefined,
    range: {
      after: 'FinancialEventGroupStartedAfter',
      before: 'FinancialEventGroupStartedBefore',
      beforeNeedsAfter: false,
      beforeDefaultsToNow: false,
      marginMs: eventLimits.marginMs,
    },
    parameters: [],
    result: 'FinancialEventGroupList',
  },
  ListFinancialEvents: {
    name: 'ListFinancialEvents',
    path: '/finances/v0/financialEvents',
    pathParameter: undefined,
    range: postedRange,
    parameters: [],
    result: 'FinancialEvents',
  },
  ListFinancialEventsByGroupId: {
    name: 'ListFinancialEventsByGroupId',
    path: '/finances/v0/financialEventGroups/{eventGroupId}/financialEvents',
    pathParameter: { name: 'eventGroupId', pattern: undefined, format: 'an event group id' },
    range: postedRange,
    parameters: [],
    result: 'FinancialEvents',
  },
  ListFinancialEventsByOrderId: {
    name: 'ListFinancialEventsByOrderId',
    path: '/finances/v0/orders/{orderId}/financialEvents',
    pathParameter: { name: 'orderId', pattern: orderIdPattern, format: '3-7-7 digits, such as 902-1845936-5435065' },
    range: undefined,
    parameters: [],
    result: 'FinancialEvents',
  },
} as const satisfies Record<EventOperationName, EventOperation>;
