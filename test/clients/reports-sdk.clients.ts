import { expect, test } from 'vitest';
import { type JsonObject, textOf } from '../emulator/seller/reading.js';
import { documentOf, reportsOf, rowsOf, settlementReports } from '../serve/reports/report-client.js';
import { day, start, startSeller } from '../serve/transactions/seller-server.js';

/** Of the client, what is used here: it comes without types. */
interface OfficialSdk {
  readonly ReportsSpApi: {
    readonly ApiClient: new (baseUrl: string) => ApiClient;
    readonly ReportsApi: new (client: ApiClient) => ReportsApi;
  };
}

interface ApiClient {
  applyXAmzAccessTokenToRequest(accessToken: string): void;
  disableRateLimiter(): void;
}

interface ReportsApi {
  getReports(asked: object): Promise<{ readonly reports: readonly Report[]; readonly nextToken?: string }>;
  getReportDocument(id: string): Promise<{ readonly url: string; readonly compressionAlgorithm?: string }>;
}

interface Report {
  readonly reportId: string;
  readonly reportDocumentId?: string;
  readonly processingStatus: string;
  readonly createdTime: Date;
}

// Put together, as the compiler would look for types otherwise.
const name = ['@amazon-sp-api-release', 'amazon-sp-api-sdk-js'].join('/');
const { ReportsSpApi } = (await import(name)) as OfficialSdk;

test('@amazon-sp-api-release/amazon-sp-api-sdk-js lists all reports of a seller and finds their documents', async () => {
  const seller = await startSeller({ events: 2000 });
  const client = new ReportsSpApi.ApiClient(seller.server.url);
  client.applyXAmzAccessTokenToRequest('any');
  client.disableRateLimiter();
  const api = new ReportsSpApi.ReportsApi(client);

  const createdSince = new Date(start - 89 * day);
  let page = await api.getReports({ reportTypes: [settlementReports], processingStatuses: ['DONE'], createdSince });
  const read = [...page.reports];
  while (page.nextToken !== undefined) {
    page = await api.getReports({ nextToken: page.nextToken });
    read.push(...page.reports);
  }
  const query = { processingStatuses: 'DONE', createdSince: createdSince.toISOString() };
  const listed = await reportsOf(seller, query);
  expect(read.length).toBeGreaterThan(20);
  expect(read.map(({ reportId, createdTime }) => [reportId, createdTime.getTime()])).toEqual(
    listed.map((report) => [textOf(report['reportId']), Date.parse(textOf(report['createdTime']))]),
  );

  const compressed = new Set<string | undefined>();
  for (const [at, { reportDocumentId = '' }] of read.slice(0, 8).entries()) {
    const { url, compressionAlgorithm } = await api.getReportDocument(reportDocumentId);
    compressed.add(compressionAlgorithm);
    const response = await fetch(url);
    const bytes = response.body ?? new Blob([]).stream();
    const plain = compressionAlgorithm === 'GZIP' ? bytes.pipeThrough(new DecompressionStream('gzip')) : bytes;
    const text = await new Response(plain).text();
    const report: JsonObject = listed[at] ?? {};
    expect(text).toBe((await documentOf(seller, report)).text);
    expect(rowsOf(text).length).toBeGreaterThan(0);
  }
  expect(compressed).toEqual(new Set([undefined, 'GZIP']));
});
