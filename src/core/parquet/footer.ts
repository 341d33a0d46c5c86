import { LedgerlakeError } from '../errors.js';
import { magic } from './encoder/format.js';
import { readStruct, type ThriftStruct } from './encoder/thrift.js';

/** A Parquet file ends in its footer, the footer's length as four bytes, and `PAR1`. */
const tailBytes = 4 + magic.length;

/** Begins what the files name as their writer, before its version. */
export const writerName = 'ledgerlake ';

/**
 * Reads the footer of a file that is to be committed, whoever has encoded it.
 *
 * @throws LedgerlakeError PARQUET_MISMATCH where it says that there are other rows than so many; Error where there is no footer
 */
export function expectRows(bytes: Uint8Array, rows: number, what: string, outcome: string): void {
  const written = footerRows(bytes);
  if (written === rows) return;
  throw new LedgerlakeError(
    'PARQUET_MISMATCH',
    `expected ${rows} rows in the Parquet file for ${what}, its footer says ${written}; ${outcome}`,
  );
}

/**
 * The rows of a Parquet file by its footer (`FileMetaData` of `parquet.thrift`), which is read from beginning to end.
 *
 * @throws Error where there is none, it says two things, or a column lies outside of the file
 */
function footerRows(bytes: Uint8Array): number {
  const start = magic.equals(bytes.subarray(0, magic.length)) ? footerAt(bytes) : undefined;
  if (start === undefined) throw new Error(`expected a Parquet file, got ${bytes.length} bytes without its footer`);
  const footer = readStruct(bytes, start, bytes.length - tailBytes);
  const rows = numberOf(footer, 3);
  let total = 0;
  for (const group of structsOf(footer, 4)) {
    total += numberOf(group, 3);
    for (const chunk of structsOf(group, 1)) {
      const [of] = structsOf(chunk, 3);
      if (of === undefined) throw new Error('expected metadata for each column of a footer, found none');
      const from = Math.min(numberOf(of, 9), of.has(11) ? numberOf(of, 11) : Infinity);
      if (from < magic.length || from + numberOf(of, 7) > start)
        throw new Error(`expected columns between bytes ${magic.length} and ${start}, found one at ${from}`);
    }
  }
  if (total !== rows) throw new Error(`expected row groups of ${rows} rows in all, found ${total}`);
  return rows;
}

/** Where a Parquet file's footer begins; undefined where the bytes don't end as such a file does. */
export function footerAt(bytes: Uint8Array): number | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.length < magic.length + tailBytes || !magic.equals(file.subarray(-magic.length))) return undefined;
  const at = file.length - tailBytes - file.readUInt32LE(file.length - tailBytes);
  return at < magic.length ? undefined : at;
}

function numberOf(struct: ThriftStruct, field: number): number {
  const value = struct.get(field);
  if (typeof value !== 'number') throw new Error(`expected a number as field ${field} of a footer, found none`);
  return value;
}

function structsOf(struct: ThriftStruct, field: number): readonly ThriftStruct[] {
  const value = struct.get(field);
  return (Array.isArray(value) ? value : [value]).filter((one) => one instanceof Map);
}
