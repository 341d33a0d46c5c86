import { dayMs } from '../../../core/windows.js';
import type { ApiOperation } from '../selling-partner/finances-api.js';

/** An operation of the Reports API, whose operations have a quota each. */
export interface ReportOperation extends ApiOperation {
  readonly name: ReportOperationName;
  /** Requests a second, until the service states another rate. */
  readonly rate: number;
  /** Requests at once. */
  readonly burst: number;
}

export type ReportOperationName = 'getReports' | 'getReportDocument';

/** Days that the service keeps a report. */
export const keptReportDays = 90;

export const reportLimits = {
  /** How long a report is kept after its creation, in milliseconds; an older lower bound is refused. */
  keptMs: keptReportDays * dayMs,
  /** Reports a page: the most, and the default. */
  pageSize: 100,
  defaultPageSize: 10,
  /** How long the address of a document is valid, in milliseconds. */
  addressLifeMs: 5 * 60_000,
} as const;

/** The type of the settlement report, flat file V2: the only one that is left. */
export const settlementReportType = 'GET_V2_SETTLEMENT_REPORT_DATA_FLAT_FILE_V2';

/** Values of `processingStatus`: a report has a document once it is `DONE`. */
export const processingStatuses = ['CANCELLED', 'DONE', 'FATAL', 'IN_PROGRESS', 'IN_QUEUE'] as const;

/** The operations of Reports 2021-06-30 that read reports. */
export const reportOperations = {
  getReports: {
    name: 'getReports',
    path: '/reports/2021-06-30/reports',
    range: { after: 'createdSince', before: 'createdUntil', beforeDefaultsToNow: true, marginMs: undefined },
    parameters: ['reportTypes', 'processingStatuses', 'marketplaceIds'],
    result: 'reports',
    rate: 0.0222,
    burst: 10,
  },
  getReportDocument: {
    name: 'getReportDocument',
    path: '/reports/2021-06-30/documents/{reportDocumentId}',
    pathParameter: { name: 'reportDocumentId' },
    range: undefined,
    parameters: [],
    result: 'url',
    rate: 0.0167,
    burst: 15,
  },
} as const satisfies Record<ReportOperationName, ReportOperation>;
