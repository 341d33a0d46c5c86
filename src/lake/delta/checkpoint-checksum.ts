import { createHash } from 'node:crypto';

/** Begins the checksum within a checkpoint file. */
const marker = Buffer.from('ledgerlake sha256');
const digestBytes = 32;
/** A Parquet file ends in its footer, the footer's length as four bytes, and `PAR1`. */
const tailBytes = 8;
const magic = 'PAR1';

/**
 * A checkpoint file with the SHA-256 of its own bytes between the row groups and the footer, where no Parquet reader looks: all
 * offsets of the footer count from the file's beginning. So the checksum is written, copied and removed with the file.
 *
 * @param of which checkpoint this is: another one's file in its place doesn't match
 */
export function withChecksum(bytes: Uint8Array, of: string): Uint8Array {
  const at = footerAt(bytes);
  if (at === undefined) throw new Error('expected a Parquet file to write a checksum into');
  const data = bytes.subarray(0, at);
  const footer = bytes.subarray(at);
  return Buffer.concat([data, marker, digest(of, data, footer), footer]);
}

/**
 * Whether a checkpoint file has the bytes that were written; `missing` where it has no checksum: an older version, or another
 * program, wrote it.
 */
export function checksumOf(bytes: Uint8Array, of: string): 'valid' | 'invalid' | 'missing' {
  const at = footerAt(bytes);
  if (at === undefined) return 'invalid';
  const from = at - digestBytes - marker.length;
  if (from < 0 || marker.compare(bytes, from, from + marker.length) !== 0) return 'missing';
  const found = bytes.subarray(from + marker.length, at);
  return digest(of, bytes.subarray(0, from), bytes.subarray(at)).equals(found) ? 'valid' : 'invalid';
}

function digest(of: string, data: Uint8Array, footer: Uint8Array): Buffer {
  return createHash('sha256').update(`${of}\n`).update(data).update(footer).digest();
}

/** Where a Parquet file's footer begins; undefined where the bytes don't end as such a file does. */
function footerAt(bytes: Uint8Array): number | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.length < tailBytes + magic.length || file.toString('latin1', file.length - magic.length) !== magic)
    return undefined;
  const at = file.length - tailBytes - file.readUInt32LE(file.length - tailBytes);
  return at < magic.length ? undefined : at;
}
