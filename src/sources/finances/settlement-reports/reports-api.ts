import { gunzipSync } from 'node:zlib';
import { LedgerlakeError, systemCode } from '../../../core/errors.js';
import { readInstant, isoInstant, millisecondsOf } from '../../../core/numeric/instant.js';
import { formatBytes } from '../../../core/text/amounts.js';
import { pagedRequests } from '../../../engine/paging/api-client.js';
import { connectApi, type PagedClient, type PagedClientOptions } from '../../../engine/paging/paged-client.js';
import type { ApiPage, PagedApi, Query } from '../../../engine/paging/paged-api.js';
import { isWorthPacing } from '../../../engine/rate-limit/request-queue.js';
import { ApiRefusal, type RefusedAnswer } from '../../../engine/retry/api-refusal.js';
import { ReadFailure } from '../../../engine/retry/read-failure.js';
import { RetryPolicy, waitWarning } from '../../../engine/retry/retry-policy.js';
import type { Reading, RequestClient } from '../../../engine/run/pipeline.js';
import { scanned, type JsonNode } from '../../records/json-node.js';
import { refusedQuery, type FinancesApiOptions } from '../selling-partner/finances-api.js';
import { financesRefusal } from '../selling-partner/refusals.js';
import { isReportNames, mostDocumentBytes } from './report-document.js';
import { withoutByteOrderMark } from './report-encodings.js';
import { readEndpoint } from '../../../engine/http/address.js';
import {
  reportLimits,
  reportOperations,
  settlementReportType,
  type ReportOperation,
  type ReportOperationName,
} from './report-operations.js';

/** A settlement report that the service lists. */
export interface ListedReport {
  readonly id: string;
  /** `DONE`, `IN_PROGRESS`, `FATAL` … */
  readonly status: string;
  /** The id of its document; undefined where it has none. */
  readonly documentId: string | undefined;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** What its settlements lie in, milliseconds since 1970; undefined where it isn't known. */
  readonly start: number | undefined;
  readonly end: number | undefined;
}

/** A document as it was received, decompressed. */
export interface ReceivedDocument {
  readonly bytes: Uint8Array;
  /** The charset of its `Content-Type`, in lower case; undefined where it has none. */
  readonly charset: string | undefined;
}

/** The Reports API, as far as it has settlement reports. */
export interface ReportsClient extends RequestClient {
  /** The reports that the service has and that were created since an instant, in order of creation. */
  list(createdSince: number, reading: Reading<unknown>): Promise<readonly ListedReport[]>;
  /**
   * Downloads the document of a report. Its address is valid for minutes; an expired one is requested again.
   *
   * @throws ReadFailure
   */
  document(documentId: string, reading: Reading<unknown>): Promise<ReceivedDocument>;
}

/** An upstream that has this API. */
export interface WithReports {
  readonly reports: ReportsClient;
}

interface ReportQuery extends Query {
  readonly operation: ReportOperationName;
  /** Of a list: milliseconds since 1970. */
  readonly createdSince?: number;
  /** Of a document. */
  readonly documentId?: string;
}

interface ReportPage extends ApiPage {
  readonly body: JsonNode;
}

type ReportsOptions = Pick<FinancesApiOptions, 'endpoint' | 'quota' | 'cursorLifeMs'> & PagedClientOptions;

/**
 * Connects to the Reports API, whose operations have a quota each. Its answers aren't journaled, because the address of a document is a
 * secret.
 */
export function connectReports(options: ReportsOptions): ReportsClient {
  const { endpoint, transport, clock, emit } = options;
  const connect = (operation: ReportOperation) =>
    connectApi(reportsApi(options, operation), { ...options, pageJournal: undefined });
  const lists = connect(reportOperations.getReports);
  const documents = connect(reportOperations.getReportDocument);
  const policy = new RetryPolicy(options);
  const onWait = emit && waitWarning(clock, emit);
  return {
    list: async (createdSince, reading) => {
      const since = Math.max(createdSince, clock.now() - reportLimits.keptMs + clockMarginMs);
      const listed: ListedReport[] = [];
      const query = { operation: 'getReports', createdSince: since } as const;
      for await (const { body } of lists.pages(query, reading)) listed.push(...body.list('reports').map(listedReport));
      return listed.toSorted((a, b) => a.createdAt - b.createdAt);
    },
    document: async (documentId, reading) => {
      for (let attempt = 1; ; attempt++) {
        const address = await addressOf(documents, documentId, reading);
        const api = documentApi(address, readEndpoint(endpoint).origin);
        const request = pagedRequests({ api, transport, clock, policy, onWait });
        try {
          const { page } = await request({ operation: 'document' }, { pageSize: 1 }, reading);
          return page.document;
        } catch (error) {
          if (!(error instanceof ReadFailure)) throw error;
          if (error.kind === 'cursor-expired' && attempt < mostAddresses) continue;
          // The host of documents is another one: what else the service has can be read still.
          throw error.endsRun || error.kind === 'cursor-expired' ? error.with({ kind: 'fault' }) : error;
        }
      }
    },
    pace: (operation) => documents.pace(operation),
    begun: (operation) => documents.begun(operation),
  };
}

/** Addresses of one document that are requested, at most. */
const mostAddresses = 3;

/** How much younger than the oldest report the listed ones are, as the clocks differ. */
const clockMarginMs = 5 * 60_000;

/** One operation of the API, as a paged API. */
function reportsApi(
  { endpoint, quota, cursorLifeMs }: ReportsOptions,
  operation: ReportOperation,
): PagedApi<ReportQuery, ReportPage> {
  const { name, rate, burst } = operation;
  const { origin, prefix, authorization, login } = readEndpoint(endpoint);
  const headers = { accept: 'application/json', ...(authorization !== undefined && { authorization }) };
  // The setting is that of other operations, which are faster; a rate that isn't worth pacing is that of a service without a quota.
  const quotaOf = ({ rate: given, burst: givenBurst = burst }: NonNullable<ReportsOptions['quota']>) =>
    isWorthPacing(given)
      ? { rate: Math.min(given, rate), burst: Math.min(givenBurst, burst) }
      : { rate: given, burst: givenBurst };
  return {
    id: `${String(endpoint)} ${name}`,
    address: { origin, headers, secrets: login, setting: 'the endpoint' },
    operations: [name],
    quota: quota && quotaOf(quota),
    rateHeader: 'x-amzn-ratelimit-limit',
    requestIdHeader: 'x-amzn-requestid',
    cursorLifeMs,
    pageSizes: [reportLimits.pageSize],
    request: (query, cursor, pageSize) => ({ path: prefix + requestPath(operation, query, cursor, pageSize) }),
    windowOf: () => undefined,
    readPage: (_query, { body }) => readReportPage(operation, scanned(body)),
    refusal: (_query, answer) => {
      const query = { operation: name, parameters: {} };
      return financesRefusal(refusedQuery(operation, query, ['nextToken'], name === 'getReportDocument'), answer);
    },
    resultTexts: ({ body }) => [body.raw],
  };
}

/** Path and query of a request; the token of a next page is sent alone. */
function requestPath(
  { path }: ReportOperation,
  { createdSince = 0, documentId = '' }: ReportQuery,
  cursor: string | undefined,
  pageSize: number,
): string {
  if (path.includes('{')) return path.replace(/\{\w+\}/, encodeURIComponent(documentId.toWellFormed()));
  if (cursor !== undefined) return `${path}?nextToken=${encodeURIComponent(cursor)}`;
  return `${path}?reportTypes=${settlementReportType}&createdSince=${isoInstant(createdSince)}&pageSize=${pageSize}`;
}

/** @throws LedgerlakeError UPSTREAM_BODY, which doesn't quote the answer: the address of a document is a secret */
function readReportPage({ name, result }: ReportOperation, body: JsonNode): ReportPage {
  const found = body.at(result);
  if (name === 'getReportDocument') {
    if (found?.kind !== 'string') throw unexpectedAnswer(`a document's address in "${result}"`);
    return { body, results: 1, cursor: undefined };
  }
  if (found?.kind !== 'array') throw unexpectedAnswer(`a list "${result}"`);
  const cursor = body.at('nextToken')?.text;
  return { body, results: body.list(result).length, cursor: cursor === '' ? undefined : cursor };
}

function unexpectedAnswer(what: string): LedgerlakeError {
  return new LedgerlakeError('UPSTREAM_BODY', `expected ${what}, found none`);
}

/** @throws LedgerlakeError UPSTREAM_BODY for a report without an id or the instant of its creation */
function listedReport(report: JsonNode): ListedReport {
  const text = (name: string) => report.at(name)?.text;
  const instant = (name: string) => {
    const micros = readInstant(text(name) ?? '');
    return micros === undefined ? undefined : millisecondsOf(micros);
  };
  const [id, createdAt] = [text('reportId'), instant('createdTime')];
  if (id === undefined || createdAt === undefined) throw unexpectedAnswer('reports with "reportId" and "createdTime"');
  return {
    id,
    status: text('processingStatus') ?? '',
    documentId: text('reportDocumentId'),
    createdAt,
    start: instant('dataStartTime'),
    end: instant('dataEndTime'),
  };
}

/** Where a document is, for some minutes. */
interface DocumentAddress {
  readonly url: string;
  readonly isCompressed: boolean;
}

/** @throws ReadFailure */
async function addressOf(
  documents: PagedClient<ReportQuery, ReportPage>,
  documentId: string,
  reading: Reading<unknown>,
): Promise<DocumentAddress> {
  for await (const { body } of documents.pages({ operation: 'getReportDocument', documentId }, reading)) {
    const algorithm = body.at('compressionAlgorithm')?.text ?? '';
    if (algorithm !== '' && algorithm !== 'GZIP')
      throw new ReadFailure(
        'unaskable',
        'UPSTREAM_BODY',
        'expected a document that is compressed with GZIP or not at all, got another algorithm',
      );
    return { url: body.at('url')?.text ?? '', isCompressed: algorithm === 'GZIP' };
  }
  throw unexpectedAnswer("a document's address");
}

interface DocumentPage extends ApiPage {
  readonly document: ReceivedDocument;
}

/**
 * The host of a document as an API with one page. It gets no header that signs in, and the address, which is signed, is in no message.
 *
 * @throws ReadFailure for an address that isn't https, but where the service isn't either
 */
function documentApi({ url, isCompressed }: DocumentAddress, serviceOrigin: string): PagedApi<Query, DocumentPage> {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  const isAllowed =
    address?.protocol === 'https:' || (address?.protocol === 'http:' && serviceOrigin.startsWith('http:'));
  if (address === undefined || !isAllowed)
    throw new ReadFailure(
      'unaskable',
      'UPSTREAM_BODY',
      "expected a document's address that begins with https://, got another one",
    );
  const { origin, pathname, search } = address;
  return {
    id: origin,
    address: { origin, headers: {}, secrets: [], setting: "the document's host" },
    operations: ['document'],
    quota: undefined,
    cursorLifeMs: reportLimits.addressLifeMs,
    pageSizes: [1],
    mostBytes: mostDocumentBytes,
    request: () => ({ path: pathname + search, shownPath: '/…' }),
    windowOf: () => undefined,
    readPage: (_query, { headers, body }) => ({
      results: 1,
      cursor: undefined,
      document: readDocument(isCompressed ? decompressed(body) : body, headers.get('content-type') ?? ''),
    }),
    refusal: (_query, answer) => documentRefusal(answer),
    resultTexts: () => [],
  };
}

/** An address that isn't accepted may have expired: it counts as a cursor. */
function documentRefusal(answer: RefusedAnswer): ApiRefusal {
  const { status } = answer;
  const isThrottled = status === 429 || status === 503;
  const isFault = status >= 500 || status === 408 || status < 400;
  const message = `the document's host answered with status ${status}. ${isThrottled || isFault ? 'Try again later.' : 'Its address may have expired.'}`;
  return new ApiRefusal(
    { refusalCause: isThrottled ? 'throttled' : isFault ? 'fault' : 'cursor-expired', message },
    // It may quote the address.
    { ...answer, body: new Uint8Array() },
  );
}

/** @throws LedgerlakeError UPSTREAM_BODY for bytes that aren't gzip, TOO_LARGE beyond the largest document */
function decompressed(body: Uint8Array): Uint8Array {
  try {
    return gunzipSync(body, { maxOutputLength: mostDocumentBytes });
  } catch (error) {
    if (systemCode(error) === 'ERR_BUFFER_TOO_LARGE')
      throw new LedgerlakeError(
        'TOO_LARGE',
        `expected a document of at most ${formatBytes(mostDocumentBytes)}, got a larger one; import the file in parts`,
      );
    throw new LedgerlakeError('UPSTREAM_BODY', 'expected a document that is compressed with gzip, found other bytes', {
      cause: error,
    });
  }
}

/** @throws LedgerlakeError UPSTREAM_BODY for something other than a settlement report */
function readDocument(received: Uint8Array, contentType: string): ReceivedDocument {
  const bytes = withoutByteOrderMark(received);
  const end = bytes.indexOf(0x0a);
  const names = Buffer.from(bytes.subarray(0, end === -1 ? bytes.length : end)).toString('latin1');
  if (!isReportNames(names)) {
    const found = 'found a document whose first line names no column settlement-id';
    throw new LedgerlakeError('UPSTREAM_BODY', `expected a settlement report, ${found}`);
  }
  return { bytes, charset: /charset\s*=\s*"?([\w.-]+)/i.exec(contentType)?.[1]?.toLowerCase() };
}
