import { createHash } from 'node:crypto';

/** A JSON document with the hash of its own text. */
export interface Sealed<T> {
  readonly value: T;
  /** SHA-256 of the document without the seal, in 64 hexadecimal digits. */
  readonly hash: string;
}

const sealOf = (hash: string) => `,"sha256":"${hash}"}\n`;
const sealLength = sealOf('0'.repeat(64)).length;

/** Encodes a document, and appends the SHA-256 of its text as its last field, so that it stays one JSON document. */
export function seal(value: object): { readonly bytes: Uint8Array; readonly hash: string } {
  const text = JSON.stringify(value);
  const hash = createHash('sha256').update(text).digest('hex');
  return { bytes: Buffer.from(text.slice(0, -1) + sealOf(hash)), hash };
}

/** Decodes a sealed document; undefined where any bit of it has changed. */
export function unseal(bytes: Uint8Array): Sealed<unknown> | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length <= sealLength) return undefined;
  const text = buffer.subarray(0, -sealLength);
  const hash = createHash('sha256').update(text).update('}').digest('hex');
  if (buffer.toString('latin1', text.length) !== sealOf(hash)) return undefined;
  try {
    return { value: JSON.parse(`${text.toString('utf8')}}`), hash };
  } catch {
    // Sealed by somebody else.
    return undefined;
  }
}
