import { isoInstant } from '../../../core/numeric/instant.js';
import { reportFields, type ReportField } from './report-fields.js';

/** The fields of a line by their names; one that is left out is blank. */
export type WrittenFields = Readonly<Partial<Record<ReportField, string>>>;

/** The line of names of a written report. */
export const namesLine = reportFields.join('\t');

/** A line of a report, without its line end, and the number of its fields that the format can't hold as they are. */
export interface WrittenLine {
  readonly text: string;
  readonly altered: number;
}

/**
 * Writes a line. A field can't hold a tab or a line end, which become blanks, and no blanks at its ends, which are not read; one in
 * quotes is quoted once more.
 */
export function writtenLine(fields: WrittenFields): WrittenLine {
  let altered = 0;
  const texts = reportFields.map((name) => {
    const value = fields[name] ?? '';
    const text = value.replace(/[\t\n\r]/g, ' ').trim();
    if (text !== value) altered++;
    return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return { text: texts.join('\t'), altered };
}

/**
 * An amount as reports have it, such as `1234.56`: all its digits, two decimals at least. Never three, which could be thousands.
 *
 * @param decimal a decimal text
 */
export function writtenAmount(decimal: string): string {
  const [whole = '', decimals = ''] = decimal.split('.');
  const digits = decimals.replace(/0+$/, '');
  return `${whole}.${digits.padEnd(digits.length === 3 ? 4 : 2, '0')}`;
}

/** An instant as reports have it: `2026-03-02 07:11:20 UTC`, with a fraction only where it has one. */
export function writtenInstant(iso: string): string {
  const [, day = '', time = '', fraction = ''] = /^(.+)T(.{8})(\.\d+)?Z$/.exec(iso) ?? [];
  const digits = fraction.replace(/\.?0+$/, '');
  return `${day} ${time}${digits} UTC`;
}

/** The same of milliseconds since 1970; blank where it is null. */
export function writtenMoment(ms: number | null): string {
  return ms === null ? '' : writtenInstant(isoInstant(ms));
}
