import { gunzipSync } from 'node:zlib';
import { type JsonObject, textOf } from '../../emulator/seller/reading.js';
import { listIn, type Query, type SellerServer } from '../transactions/seller-server.js';

export const paths = {
  reports: '/reports/2021-06-30/reports',
  document: (id: string) => `/reports/2021-06-30/documents/${id}`,
};
export const settlementReports = 'GET_V2_SETTLEMENT_REPORT_DATA_FLAT_FILE_V2';

/** All reports, by pages of the given size; a token goes alone. */
export async function reportsOf({ get }: SellerServer, query: Query = {}): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  let next: Query = { reportTypes: settlementReports, pageSize: '100', ...query };
  for (;;) {
    const answer = await get(paths.reports, next);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    found.push(...listIn(answer.body, 'reports'));
    const { nextToken } = answer.body;
    if (typeof nextToken !== 'string') return found;
    next = { nextToken };
  }
}

/** What the service says of the document of a report. */
export async function addressOf(server: SellerServer, report: JsonObject): Promise<JsonObject> {
  const answer = await server.get(paths.document(textOf(report['reportDocumentId'])));
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body;
}

export interface ReadDocument {
  /** As the address gives them, decompressed. */
  readonly bytes: Buffer;
  readonly charset: string;
  /** Of windows-1252 the bytes as characters. */
  readonly text: string;
}

export async function documentOf(server: SellerServer, report: JsonObject): Promise<ReadDocument> {
  const { url, compressionAlgorithm } = await addressOf(server, report);
  const response = await fetch(textOf(url));
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const [, charset = ''] = /^text\/plain; charset=(.*)$/.exec(response.headers.get('content-type') ?? '') ?? [];
  const sent = Buffer.from(await response.arrayBuffer());
  const bytes = compressionAlgorithm === 'GZIP' ? gunzipSync(sent) : sent;
  // Versions of Node decode windows-1252 as if it were latin1.
  const text =
    charset === 'windows-1252' ? bytes.toString('latin1') : new TextDecoder(charset, { fatal: true }).decode(bytes);
  return { bytes, charset, text };
}

/** The lines of a document by name. */
export function rowsOf(text: string): readonly ReadonlyMap<string, string>[] {
  const [names = '', ...lines] = text.trimEnd().split('\n');
  const columns = names.split('\t');
  return lines.map((line) => {
    const fields = line.split('\t');
    return new Map(columns.map((name, at) => [name, fields[at] ?? '']));
  });
}
