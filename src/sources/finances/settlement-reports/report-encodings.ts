import { isUtf8 } from 'node:buffer';
import type { ReportLine } from './report-document.js';

/** The encodings of settlement reports: the last two are those of some marketplaces. */
export const reportEncodings = ['utf-8', 'windows-1252', 'shift_jis'] as const;
export type ReportEncoding = (typeof reportEncodings)[number];

/** What windows-1252 has at 0x80 to 0x9F: versions of Node decode these bytes as control characters. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Decodes a line. @throws TypeError where the bytes aren't text in the encoding */
export function decodeLine(bytes: Uint8Array, encoding: ReportEncoding): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (encoding) {
    case 'utf-8':
      if (!isUtf8(buffer)) throw new TypeError('the bytes are not UTF-8');
      return buffer.toString();
    case 'shift_jis':
      return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(buffer);
    case 'windows-1252':
      return buffer
        .toString('latin1')
        .replace(/[\u0080-\u009f]/g, (control) => windows1252.charAt(control.charCodeAt(0) - 0x80));
  }
}

/** The text of a line in Shift_JIS; undefined where its bytes are none. */
function shiftJis(bytes: Uint8Array): string | undefined {
  try {
    return decodeLine(bytes, 'shift_jis');
  } catch {
    return undefined;
  }
}

/** A settlement of the Japanese marketplace, the only one that writes Shift_JIS, or Japanese syllables. */
const japanese = /\tJPY(?:\t|$)|Amazon\.co\.jp|[ぁ-ヿ]/iu;

/**
 * Recognises the encoding of a document by its lines: UTF-8 where all are, else Shift_JIS where all can be decoded and one is Japanese, else
 * windows-1252, in which any bytes are text.
 */
export function encodingOf(lines: readonly Uint8Array[]): ReportEncoding {
  if (lines.every((line) => isUtf8(line))) return 'utf-8';
  let isJapanese = false;
  for (const line of lines) {
    const text = shiftJis(line);
    if (text === undefined) return 'windows-1252';
    isJapanese ||= japanese.test(text);
  }
  return isJapanese ? 'shift_jis' : 'windows-1252';
}

/** The mark that a text in UTF-8 may begin with. */
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** A document without its byte order mark. */
export function withoutByteOrderMark(bytes: Uint8Array): Uint8Array {
  return byteOrderMark.equals(bytes.subarray(0, byteOrderMark.length)) ? bytes.subarray(byteOrderMark.length) : bytes;
}

/**
 * The lines of a document without a byte order mark.
 *
 * @param charset the encoding that its answer names; another one than those of reports, or one in which the bytes are no text, doesn't count
 */
export function decodedLines(document: Uint8Array, charset: string | undefined): ReportLine[] {
  const lines = linesIn(document);
  const named = reportEncodings.find((encoding) => encoding === charset);
  const decoded = (encoding: ReportEncoding) =>
    lines.map((bytes, index) => ({ number: index + 1, raw: decodeLine(bytes, encoding) }));
  try {
    if (named !== undefined) return decoded(named);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  return decoded(encodingOf(lines));
}

/** The lines of a text, without their ends; a line feed at its end begins no other line. */
function linesIn(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let start = 0; start < bytes.length;) {
    const feed = bytes.indexOf(0x0a, start);
    const next = feed === -1 ? bytes.length : feed + 1;
    const last = feed === -1 ? bytes.length : feed;
    lines.push(bytes.subarray(start, last > start && bytes[last - 1] === 0x0d ? last - 1 : last));
    start = next;
  }
  return lines;
}
