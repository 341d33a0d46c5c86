import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { decodeLine, type ReportEncoding } from '../../sources/finances/settlement-reports/report-encodings.js';
import type { ReportDocument } from './report-backend.js';

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
export async function bytesOf({ text, encoding }: ReportDocument, isCompressed: boolean): Promise<Uint8Array> {
  const bytes = encoded(text, encoding);
  return isCompressed ? compressed(bytes) : bytes;
}
