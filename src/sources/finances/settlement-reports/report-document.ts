import type { ReportField } from './report-fields.js';

/** A line of a document, decoded. */
export interface ReportLine {
  /** In the document, from 1. */
  readonly number: number;
  /** Without its line end. */
  readonly raw: string;
}

/** A settlement of a document, not yet read. */
export interface SettlementText {
  readonly id: string;
  readonly names: ReportNames;
  /** The line with dates, total and currency. */
  readonly header: ReportLine;
  /** In the order of the document. */
  readonly lines: readonly ReportLine[];
}

/** Bytes of the largest document, compressed or not: it is kept in memory, as its encoding and its forms are those of all lines. */
export const mostDocumentBytes = 256 * 1024 * 1024;

/** Columns without which a document isn't a flat file V2. */
const neededNames: readonly ReportField[] = [
  'settlement-id',
  'settlement-start-date',
  'settlement-end-date',
  'total-amount',
  'currency',
  'transaction-type',
  'amount-type',
  'amount-description',
  'amount',
];

/** The line of names of a document. */
export class ReportNames {
  readonly raw: string;
  readonly #positions: ReadonlyMap<string, number>;

  constructor(raw: string) {
    const names = fieldsOf(raw).map((name) => name.trim().toLowerCase());
    this.raw = raw;
    this.#positions = new Map(names.map((name, position) => [name, position]));
  }

  /** The first column of the flat file V2 that it lacks; undefined where it has all. */
  get missing(): string | undefined {
    return neededNames.find((name) => !this.#positions.has(name));
  }

  /** The position of a column; -1 where the document lacks it. */
  position(name: string): number {
    return this.#positions.get(name) ?? -1;
  }

  /** A line's field, without blanks around it; empty where it has none. */
  field(fields: readonly string[], name: string): string {
    return fieldAt(fields, this.position(name));
  }

  /** The same for many lines. */
  reader(name: string): (fields: readonly string[]) => string {
    const position = this.position(name);
    return (fields) => fieldAt(fields, position);
  }
}

function fieldAt(fields: readonly string[], position: number): string {
  return (fields[position] ?? '').trim();
}

/** The fields of a line. Spreadsheets write a field that has a comma in quotes, and a quote in it twice. */
export function fieldsOf(raw: string): string[] {
  const fields = raw.split('\t');
  if (!raw.includes('"')) return fields;
  return fields.map((field) => {
    if (field.length < 2 || !field.startsWith('"') || !field.endsWith('"')) return field;
    const pieces = field.slice(1, -1).split('""');
    return pieces.some((piece) => piece.includes('"')) ? field : pieces.join('"');
  });
}

/** Whether a line is the line of names of a settlement report, in any order of columns. */
export function isReportNames(line: string): boolean {
  return line.includes('\t') && fieldsOf(line).some((name) => name.trim().toLowerCase() === 'settlement-id');
}

/** What is wrong with a document, and with which of its lines. */
export interface DocumentFault {
  readonly line: number;
  readonly found: string;
}

interface ReadSettlements {
  readonly settlements: readonly SettlementText[];
  /** Lines of settlements that can't be read. */
  readonly faults: readonly DocumentFault[];
}

/** A settlement whose lines are being collected. */
interface OpenSettlement extends SettlementText {
  readonly lines: ReportLine[];
}

/**
 * Divides the lines of a document into settlements. Of a settlement that it has twice, as files one behind the other do, the last one counts.
 * A line that is cut off before its amount is one of the settlement above it.
 *
 * @param lines the first one has the names
 */
export function settlementsIn(lines: Iterable<ReportLine>): ReadSettlements {
  const settlements = new Map<string, OpenSettlement>();
  const faults = new Map<string, DocumentFault>();
  let names: ReportNames | undefined;
  let current: OpenSettlement | undefined;
  for (const line of lines) {
    const read = names !== undefined && !isReportNames(line.raw) ? names : new ReportNames(line.raw);
    const { missing } = read;
    if (read !== names && missing === undefined) {
      names = read;
      continue;
    }
    // A line of a settlement may have one of the names as its SKU.
    if (names === undefined) {
      const found = `expected the column ${missing ?? ''} of a settlement report (flat file V2), found none`;
      return { settlements: [], faults: [{ line: line.number, found }] };
    }
    const fields = fieldsOf(line.raw);
    const id = names.field(fields, 'settlement-id');
    if (isHeader(names, fields)) {
      current = { id, names, header: line, lines: [] };
      settlements.set(id, current);
      continue;
    }
    const isCutOff = id === '' || fields.length <= names.position('amount');
    const owner = settlements.get(id) ?? (isCutOff ? current : undefined);
    if (owner !== undefined) owner.lines.push(line);
    else if (!faults.has(id)) {
      const lineText = id === '' ? 'a line of no settlement' : `a line of the settlement ${id.slice(0, 40)}`;
      const found = `expected the settlement's first line, with its dates and total, before its others, found ${lineText}`;
      faults.set(id, { line: line.number, found });
    }
  }
  return { settlements: [...settlements.values()], faults: [...faults.values()] };
}

/** Whether a line is the first one of a settlement, which has no amount of its own. */
function isHeader(names: ReportNames, fields: readonly string[]): boolean {
  const has = (name: string) => names.field(fields, name) !== '';
  const isSettlement = has('settlement-id') && (has('total-amount') || has('settlement-start-date'));
  return isSettlement && !has('transaction-type') && !has('amount-type') && !has('amount');
}
