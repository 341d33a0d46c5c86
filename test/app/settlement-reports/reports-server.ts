import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { listening } from '../../listening.js';

/** A document that the service offers. */
export interface OfferedReport {
  readonly id: string;
  readonly created: string;
  readonly text?: string | Buffer;
  readonly status?: string;
  readonly start?: string;
  readonly end?: string;
  readonly contentType?: string;
  readonly isCompressed?: boolean;
}

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** Answers a request before the service does; true: it was answered. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The operations of reports, and the host of documents at another port: written from their description alone. */
export async function reportsServer(reports: readonly OfferedReport[], options: { readonly pageSize?: number } = {}) {
  const asked: Received[] = [];
  const downloads: Received[] = [];
  const state: {
    first: Answer;
    firstDownload: Answer;
    readonly reports: OfferedReport[];
    compression?: string;
    url?: string;
  } = {
    first: () => false,
    firstDownload: () => false,
    reports: [...reports],
  };
  let addresses = 0;
  const documentHost = await listening(
    createServer((request, response) => {
      response.sendDate = false;
      const { url = '', headers } = request;
      downloads.push({ path: url, headers });
      if (state.firstDownload(request, response)) return;
      const id = new URL(url, 'http://host').pathname.slice(1);
      const report = state.reports.find((one) => one.id === id);
      if (report?.text === undefined) return void response.writeHead(404).end();
      const bytes = Buffer.from(report.text);
      response.writeHead(200, { 'content-type': report.contentType ?? 'text/plain; charset=UTF-8' });
      response.end(report.isCompressed === true ? gzipSync(bytes) : bytes);
    }),
  );
  const json = (response: ServerResponse, body: object, status = 200): void => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-requestid': 'request-1' });
    response.end(JSON.stringify(body));
  };
  const list = (response: ServerResponse, query: URLSearchParams): void => {
    const token = query.get('nextToken');
    if (token !== null && [...query].length !== 1) {
      json(response, { errors: [{ code: 'InvalidInput', message: 'nextToken must be alone' }] }, 400);
      return;
    }
    const [since = '', from = '0'] = token?.split(' ') ?? [query.get('createdSince') ?? ''];
    const found = state.reports.filter(({ created }) => Date.parse(created) >= Date.parse(since)).toReversed();
    const { pageSize = 100 } = options;
    const end = Number(from) + pageSize;
    const page = found.slice(Number(from), end).map((report) => ({
      reportId: report.id,
      reportType: query.get('reportTypes') ?? undefined,
      processingStatus: report.status ?? 'DONE',
      createdTime: report.created,
      dataStartTime: report.start,
      dataEndTime: report.end,
      marketplaceIds: ['ATVPDKIKX0DER'],
      ...((report.status ?? 'DONE') === 'DONE' && { reportDocumentId: `document of ${report.id}` }),
    }));
    json(response, { reports: page, ...(end < found.length && { nextToken: `${since} ${end}` }) });
  };
  const endpoint = await listening(
    createServer((request, response) => {
      // Its clock is that of the test.
      response.sendDate = false;
      const { url = '', headers } = request;
      asked.push({ path: url, headers });
      if (state.first(request, response)) return;
      const { pathname, searchParams } = new URL(url, 'http://host');
      if (pathname === '/reports/2021-06-30/reports') {
        list(response, searchParams);
        return;
      }
      const [, documentId = ''] = /^\/reports\/2021-06-30\/documents\/(.+)$/.exec(decodeURIComponent(pathname)) ?? [];
      const report = state.reports.find(({ id }) => documentId === `document of ${id}`);
      if (report === undefined) {
        json(response, { errors: [{ code: 'NotFound', message: 'no such resource' }] }, 404);
        return;
      }
      const compressionAlgorithm = state.compression ?? (report.isCompressed === true ? 'GZIP' : undefined);
      json(response, {
        reportDocumentId: documentId,
        url: state.url ?? `${documentHost}/${report.id}?X-Amz-Signature=signature-${++addresses}`,
        ...(compressionAlgorithm !== undefined && { compressionAlgorithm }),
      });
    }),
  );
  return { endpoint, asked, downloads, state };
}
