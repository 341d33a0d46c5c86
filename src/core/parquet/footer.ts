import { LedgerlakeError } from '../errors.js';
import { magic } from './encoder/format.js';
import { numberField, readStruct, structFields, textField, type ThriftStruct } from './encoder/thrift.js';
import { blobOf, type ParquetSource } from './parquet-source.js';

/** A Parquet file ends in its footer, the footer's length as four bytes, and `PAR1`. */
const tailBytes = 4 + magic.length;

/** Prefix of the writer in a footer, before the version. */
export const writerName = 'ledgerlake ';

/**
 * Compares the footer of a file that is to be committed with the number of rows encoded.
 *
 * @throws LedgerlakeError PARQUET_MISMATCH where the footer has another number of rows; Error where there is no footer
 */
export function checkFooterRows(bytes: Uint8Array, rows: number, what: string, outcome: string): void {
  const written = footerRows(bytes);
  if (written === rows) return;
  throw new LedgerlakeError(
    'PARQUET_MISMATCH',
    `expected ${rows} rows in the Parquet file for ${what}, got ${written} in its footer; ${outcome}`,
  );
}

/**
 * The number of rows in a Parquet file's footer (`FileMetaData` of `parquet.thrift`), which is read completely.
 *
 * @throws Error where there is no footer, it contradicts itself, or a column chunk is outside of the file
 */
function footerRows(bytes: Uint8Array): number {
  const start = magic.equals(bytes.subarray(0, magic.length)) ? footerAt(bytes) : undefined;
  if (start === undefined) throw new Error(`expected a Parquet file, got ${bytes.length} bytes without its footer`);
  const footer = readStruct(bytes, start, bytes.length - tailBytes);
  const rows = statedRows(footer);
  let total = 0;
  for (const group of structFields(footer, 4)) {
    total += numberField(group, 3);
    for (const chunk of structFields(group, 1)) {
      const [metadata] = structFields(chunk, 3);
      if (metadata === undefined) throw new Error('expected metadata for each column of a footer, found none');
      const from = Math.min(numberField(metadata, 9), metadata.has(11) ? numberField(metadata, 11) : Infinity);
      if (from < magic.length || from + numberField(metadata, 7) > start)
        throw new Error(`expected columns between bytes ${magic.length} and ${start}, found one at ${from}`);
    }
  }
  if (total !== rows) throw new Error(`expected row groups of ${rows} rows in all, found ${total}`);
  return rows;
}

/** The offset of a Parquet file's footer; undefined where the bytes don't end like a Parquet file. */
function footerAt(bytes: Uint8Array): number | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.length < magic.length + tailBytes || !magic.equals(file.subarray(-magic.length))) return undefined;
  const at = file.length - tailBytes - file.readUInt32LE(file.length - tailBytes);
  return at < magic.length ? undefined : at;
}

/** Bytes read first, more than most footers have. */
const firstRead = 32_000;

/** Reads the footer of a file (`FileMetaData` of `parquet.thrift`). Throws an Error where there is none. */
export async function readFooter(file: Blob): Promise<ThriftStruct> {
  const last = new Uint8Array(await file.slice(Math.max(0, file.size - firstRead), file.size).arrayBuffer());
  const end = last.length - tailBytes;
  if (end < 0 || !magic.equals(last.subarray(-magic.length))) throw new Error('expected a Parquet file, got none');
  const length = new DataView(last.buffer, last.byteOffset).getUint32(end, true);
  if (length <= end) return readStruct(last, end - length, end);
  const whole = file.size - tailBytes;
  if (length > whole) throw new Error(`expected a footer within ${whole} bytes, it has ${length}`);
  const bytes = new Uint8Array(await file.slice(whole - length, whole).arrayBuffer());
  return readStruct(bytes, 0, length);
}

/** Whether the footer names this program as the writer. */
export function isLedgerlakeFooter(footer: ThriftStruct): boolean {
  return textField(footer, 6)?.startsWith(writerName) === true;
}

/** A column that is no group, as a footer describes it. */
export interface FooterColumn {
  readonly name: string;
  /** Number in Parquet's enumeration `Type`. */
  readonly physical: number;
  /** Number in Parquet's enumeration `ConvertedType`. */
  readonly converted: number | undefined;
  readonly scale: number;
  readonly precision: number;
}

/** The columns in a footer, those in groups as well. Throws an Error where it contradicts itself. */
export function footerColumns(footer: ThriftStruct): readonly FooterColumn[] {
  const fields = structFields(footer, 2).filter((field) => field.has(1));
  const optional = (field: ThriftStruct, at: number) => (field.has(at) ? numberField(field, at) : undefined);
  return fields.map((field) => ({
    name: textField(field, 4) ?? '',
    physical: numberField(field, 1),
    converted: optional(field, 6),
    scale: optional(field, 7) ?? 0,
    precision: optional(field, 8) ?? 0,
  }));
}

/** Whether a footer describes columns that have columns of their own. */
export function hasNestedColumns(footer: ThriftStruct): boolean {
  const [, ...below] = structFields(footer, 2);
  return below.some((field) => !field.has(1));
}

/** The number of rows that a footer states. Throws an Error where it states none. */
export function statedRows(footer: ThriftStruct): number {
  return numberField(footer, 3);
}

/** The bytes of all pages without compression, as a footer states them. Throws an Error where it contradicts itself. */
export function uncompressedBytes(footer: ThriftStruct): number {
  const chunks = structFields(footer, 4).flatMap((group) => structFields(group, 1));
  return chunks.reduce((sum, chunk) => {
    const [metadata] = structFields(chunk, 3);
    return metadata === undefined ? sum : sum + numberField(metadata, 6);
  }, 0);
}

/** Throws an Error where the source is no Parquet file. */
export async function footerTexts(
  source: ParquetSource,
): Promise<{ readonly createdBy: string; readonly metadata: ReadonlyMap<string, string> }> {
  const footer = await readFooter(await blobOf(source));
  const pairs = structFields(footer, 5).map((pair) => [textField(pair, 1) ?? '', textField(pair, 2) ?? ''] as const);
  return { createdBy: textField(footer, 6) ?? '', metadata: new Map(pairs) };
}
