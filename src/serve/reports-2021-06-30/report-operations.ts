import {
  processingStatuses,
  reportLimits as limits,
  reportOperations as operations,
  settlementReportType,
} from '../../sources/finances/settlement-reports/report-operations.js';
import { shortInstant } from '../../core/numeric/instant.js';
import type { BackendItem, BackendPage } from '../operation/backend-page.js';
import { invalidInput, pageTooLarge, requestRefusal } from '../operation/outcome.js';
import { type Bound, boundOf, percentDecoded, queryValues } from '../operation/query-parameters.js';
import {
  type CheckedRequest,
  firstRequest,
  positionOf,
  type ServedOperation,
  type UncheckedRequest,
} from '../operation/served-operation.js';
import type { Chain } from '../operation/signed-tokens.js';
import { findReport, type ReportBackend, type SettlementReport, type WithReportBackend } from './report-backend.js';

const { getReports, getReportDocument } = operations;
const { after, before } = getReports.range;
const token = 'nextToken';
const pageSize = 'pageSize';
const [reportTypes, statuses, marketplaceIds] = getReports.parameters;
const listingParameters = [...getReports.parameters, after, before, pageSize];

/** The values of a list of parameters; undefined where it isn't given. */
function parameterValues(values: Readonly<Record<string, string>>, name: string): readonly string[] | undefined {
  return values[name]?.split(',');
}

function pageSizeOf(text: string | undefined): number {
  if (text === undefined) return limits.defaultPageSize;
  const size = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0;
  if (size >= 1 && size <= limits.pageSize) return size;
  throw invalidInput(`${pageSize} must be a whole number from 1 to ${limits.pageSize}.`, text);
}

/** @throws Refusal for a lower bound before the oldest report that is kept, and for bounds in the wrong order */
function checkBounds(since: Bound | undefined, until: Bound | undefined, now: number): void {
  if (since !== undefined && since.at < now - limits.keptMs) {
    throw invalidInput(`${after} must not be more than ${limits.keptMs / 86_400_000} days ago.`, since.text);
  }
  if (since !== undefined && until !== undefined && until.at < since.at) {
    throw invalidInput(`${before} must not be earlier than ${after}.`, `${since.text} and ${until.text}`);
  }
}

function readListing({ query, rules, now }: UncheckedRequest): CheckedRequest {
  const operation = getReports.name;
  const values = queryValues({ operation, names: [...listingParameters, token] }, query);
  const received = values.get(token);
  if (received !== undefined) {
    const other = [...values.keys()].find((name) => name !== token);
    if (other !== undefined) throw invalidInput(`${token} must be sent alone, without ${other}.`, other);
    const owner = { parameter: token, operation, subject: undefined };
    return { ...positionOf(received, owner, rules, now), token: received };
  }
  const parameters = Object.fromEntries(values);
  if (parameters[reportTypes] === undefined) throw invalidInput(`${reportTypes} or ${token} must be specified.`, '');
  const unknown = parameterValues(parameters, statuses)?.find(
    (status) => !processingStatuses.some((known) => known === status),
  );
  if (unknown !== undefined) {
    throw invalidInput(`${statuses} must be among ${processingStatuses.join(', ')}.`, unknown);
  }
  const [since, until] = [after, before].map((name) => boundOf(name, values.get(name)));
  checkBounds(since, until, now);
  return firstRequest({
    operation,
    subject: undefined,
    after: since?.at,
    before: until?.at,
    pageSize: pageSizeOf(values.get(pageSize)),
    asOf: now,
    parameters,
  });
}

function processingStatus({ doneAt }: SettlementReport, asOf: number): (typeof processingStatuses)[number] {
  return doneAt <= asOf ? 'DONE' : 'IN_PROGRESS';
}

function reportJson(report: SettlementReport, asOf: number): string {
  const status = processingStatus(report, asOf);
  return JSON.stringify({
    reportType: settlementReportType,
    processingStatus: status,
    marketplaceIds: report.marketplaceIds,
    reportId: report.id,
    dataStartTime: shortInstant(report.start),
    dataEndTime: shortInstant(report.end),
    createdTime: shortInstant(report.createdAt),
    processingStartTime: shortInstant(report.createdAt),
    ...(status === 'DONE' && {
      processingEndTime: shortInstant(report.doneAt),
      reportDocumentId: report.documentId,
    }),
  });
}

/** The reports of a question, the newest first. */
async function selected(backend: ReportBackend, chain: Chain): Promise<readonly SettlementReport[]> {
  const { asOf, after: since = asOf - limits.keptMs, before: until = asOf, parameters = {} } = chain;
  if (parameterValues(parameters, reportTypes)?.includes(settlementReportType) !== true) return [];
  const ofMarketplaces = parameterValues(parameters, marketplaceIds);
  const ofStatuses = parameterValues(parameters, statuses);
  return (await backend.reports(asOf))
    .filter((report) => report.createdAt >= since && report.createdAt <= until)
    .filter((report) => ofMarketplaces === undefined || report.marketplaceIds.some((id) => ofMarketplaces.includes(id)))
    .filter((report) => ofStatuses?.includes(processingStatus(report, asOf)) !== false)
    .toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
}

async function listingPage(backend: ReportBackend, { chain, cursor }: CheckedRequest): Promise<BackendPage> {
  const reports = await selected(backend, chain);
  const start = cursor === undefined ? 0 : reports.findIndex(({ id }) => id === cursor) + 1;
  const shown = reports.slice(start, start + chain.pageSize);
  const items = shown.map((report): BackendItem => ({ list: '', json: reportJson(report, chain.asOf) }));
  return { items, next: start + shown.length < reports.length ? shown.at(-1)?.id : undefined };
}

function readDocument({ rawSubject = '', query, now }: UncheckedRequest): CheckedRequest {
  const operation = getReportDocument.name;
  queryValues({ operation, names: [] }, query);
  const subject = percentDecoded(rawSubject);
  if (subject === undefined || subject === '') {
    throw invalidInput(`${getReportDocument.pathParameter.name} is not percent-encoded UTF-8.`, rawSubject);
  }
  return firstRequest({ operation, subject, after: undefined, before: undefined, pageSize: 1, asOf: now });
}

async function documentPage(backend: ReportBackend | undefined, { chain }: CheckedRequest): Promise<BackendPage> {
  const { subject = '', asOf } = chain;
  const report = backend && (await findReport(backend, subject, asOf));
  if (report === undefined) throw requestRefusal(404, 'There is no document with this reportDocumentId.', subject);
  const { documentId: reportDocumentId, isCompressed } = report;
  const json = JSON.stringify({ reportDocumentId, ...(isCompressed && { compressionAlgorithm: 'GZIP' }) });
  return { items: [{ list: '', json }], next: undefined };
}

/** The operations of Reports 2021-06-30 that read settlement reports. */
export const settlementReportOperations: readonly ServedOperation<WithReportBackend>[] = [
  {
    name: getReports.name,
    path: getReports.path,
    parameters: listingParameters,
    tokenParameter: token,
    rate: getReports.rate,
    burst: getReports.burst,
    read: readListing,
    pageOf: async ({ byReport }, request) =>
      byReport === undefined ? { items: [], next: undefined } : listingPage(byReport, request),
    bodyOf: ({ items = [], nextToken }) => {
      const next = nextToken === undefined ? '' : `,"nextToken":${JSON.stringify(nextToken)}`;
      return `{"reports":[${items.map(({ json }) => json).join(',')}]${next}}`;
    },
    tooLarge: pageTooLarge,
  },
  {
    name: getReportDocument.name,
    path: getReportDocument.path,
    parameters: [],
    tokenParameter: token,
    rate: getReportDocument.rate,
    burst: getReportDocument.burst,
    read: readDocument,
    pageOf: ({ byReport }, request) => documentPage(byReport, request),
    bodyOf: ({ items: [item] = [] }, { addressOf }) => {
      const document = JSON.parse(item?.json ?? '{}') as { readonly reportDocumentId: string };
      return JSON.stringify({ ...document, url: addressOf(document.reportDocumentId) });
    },
    tooLarge: pageTooLarge,
  },
];
