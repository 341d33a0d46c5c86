import type { HttpRequest } from '../../core/http-server/answer.js';
import { reportLimits } from '../../sources/finances/settlement-reports/report-operations.js';
import type { Outcome } from '../operation/outcome.js';
import { percentDecoded } from '../operation/query-parameters.js';
import { Signer, type TokenKey } from '../operation/signed-tokens.js';
import { findReport, type ReportBackend, type ReportDocument } from './report-backend.js';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { decodeLine, type ReportEncoding } from '../../sources/finances/settlement-reports/report-encodings.js';

/** Characters with the bytes that an encoding has for them. */
type Codes = ReadonlyMap<string, readonly number[]>;

const known = new Map<ReportEncoding, Codes>();

/** The codes of one or two bytes of an encoding, read from its decoder. */
function codesOf(encoding: ReportEncoding): Codes {
  const cached = known.get(encoding);
  if (cached !== undefined) return cached;
  const codes = new Map<string, readonly number[]>();
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  const leads: number[] = [];
  const add = (code: readonly number[]): boolean => {
    try {
      const text = decodeLine(Uint8Array.from(code), encoding);
      if (!codes.has(text)) codes.set(text, code);
      return true;
    } catch {
      return false;
    }
  };
  for (const byte of bytes) if (!add([byte])) leads.push(byte);
  for (const lead of leads) for (const trail of bytes) add([lead, trail]);
  known.set(encoding, codes);
  return codes;
}

/** A text in an encoding; `?` replaces a character that it lacks. */
function encoded(text: string, encoding: ReportEncoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  const codes = codesOf(encoding);
  const [replacement = 0] = codes.get('?') ?? [];
  return Buffer.from(Array.from(text).flatMap((character) => codes.get(character) ?? [replacement]));
}

const compressed = promisify(gzip);

/** A document's bytes as they are sent. */
async function bytesOf({ text, encoding }: ReportDocument, isCompressed: boolean): Promise<Uint8Array> {
  const bytes = encoded(text, encoding);
  return isCompressed ? compressed(bytes) : bytes;
}

const documentsPath = '/documents/';
const signatureParameter = 'X-Amz-Signature';

/** A refusal as the store of documents words it. */
export function documentRefusal(status: number, code: string, message: string): Outcome {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return { status, body, headers: { 'Content-Type': 'application/xml' } };
}

/** The refusal of an address that is no longer valid. */
export function addressExpired(): Outcome {
  return documentRefusal(403, 'AccessDenied', 'Request has expired');
}

/** A request for a document. */
interface DocumentRequest {
  readonly request: HttpRequest;
  readonly path: string;
  readonly query: string;
  /** Instant of arrival, milliseconds since 1970. */
  readonly now: number;
}

/** The addresses of documents, which a signature protects for five minutes, and their answers. */
export class DocumentAddresses {
  readonly #signer: Signer;

  /** @param tokenKey signs the addresses */
  constructor(tokenKey: TokenKey) {
    this.#signer = new Signer('document address, layout 1', tokenKey);
  }

  isDocument(path: string): boolean {
    return path.startsWith(documentsPath);
  }

  /** The address of a document for the client of a request. */
  addressOf({ headers }: HttpRequest, documentId: string, now: number): string {
    const { host, 'x-forwarded-proto': protocol } = headers;
    // The live service names another host; on loopback the machine has a second name.
    const other = (typeof host === 'string' ? host : '').replace(/^127\.0\.0\.1(?=:|$)/, 'localhost');
    const signed = [documentId, now + reportLimits.addressLifeMs];
    const signature = this.#signer.sign(Buffer.from(JSON.stringify(signed)));
    const expires = `X-Amz-Expires=${reportLimits.addressLifeMs / 1000}`;
    const scheme = protocol === 'https' ? 'https' : 'http';
    return `${scheme}://${other}${documentsPath}${encodeURIComponent(documentId)}?${expires}&${signatureParameter}=${signature}`;
  }

  /** The document that an address names: it takes no credentials besides its signature. */
  async answer({ request, path, query, now }: DocumentRequest, backend: ReportBackend | undefined): Promise<Outcome> {
    const { method, headers } = request;
    if (method !== 'GET') return documentRefusal(405, 'MethodNotAllowed', 'The method is not allowed.');
    if ((headers['x-amz-access-token'] ?? headers['authorization']) !== undefined) {
      return documentRefusal(400, 'InvalidArgument', 'Only one auth mechanism allowed');
    }
    const id = percentDecoded(path.slice(documentsPath.length)) ?? '';
    const signature = new URLSearchParams(query).get(signatureParameter) ?? '';
    const signed = this.#signer.read(signature)?.toString('utf8') ?? '[]';
    const [signedId, until = 0] = JSON.parse(signed) as [id?: string, until?: number];
    if (signedId !== id) {
      return documentRefusal(403, 'SignatureDoesNotMatch', 'The signature of the address is wrong.');
    }
    if (now > until) return addressExpired();
    const report = backend && (await findReport(backend, id, now));
    if (backend === undefined || report === undefined) {
      return documentRefusal(404, 'NoSuchKey', 'The specified key does not exist.');
    }
    const document = await backend.documentOf(report);
    const body = await bytesOf(document, report.isCompressed);
    return { status: 200, body, headers: { 'Content-Type': `text/plain; charset=${document.encoding}` } };
  }
}
