import { readFile } from 'node:fs/promises';
import { literal } from '../../core/duckdb/literals.js';
import { messageOf, usageError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { nearestName } from '../../core/text/fault-line.js';
import { netKinds } from '../../sources/finances/model/amount-kinds.js';
import { categories } from './categories.js';

/** A rule of a chart of accounts: which amounts are posted to an account of the ledger. */
export interface ChartRow {
  /** A kind of amounts, a category, or what journals post themselves (`clearing`, `bank` …). */
  readonly kind: string;
  /** Undefined: any. */
  readonly name: string | undefined;
  readonly code: string;
  readonly account: string;
  /** Xero's name of a tax rate. */
  readonly taxRate: string;
}

export const defaultTaxRate = 'Tax Exempt';

const columns = ['kind', 'name', 'ledger_code', 'ledger_account', 'taxRate'] as const;
const optionalColumn = 'taxRate';

/** The accounts that every journal needs. */
const needed = ['clearing', 'bank', 'suspense'] as const;

const kinds = [...[...needed, 'deferred', 'difference'], ...categories.map(({ id }) => id), ...netKinds];

/**
 * Reads a chart of accounts.
 *
 * @throws LedgerlakeError USAGE for a file that can't be read, and as `parseChart`
 */
export async function readChart(path: string): Promise<readonly ChartRow[]> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw usageError(`expected a chart of accounts in ${printable(path)}, got ${printable(messageOf(error))}`);
  }
  return parseChart(bytes, path);
}

/**
 * A chart of accounts from the bytes of a CSV file: UTF-8, with or without a BOM.
 *
 * @param file its name in errors
 * @throws LedgerlakeError USAGE with the line and the column of the first fault
 */
export function parseChart(bytes: Uint8Array, file: string): readonly ChartRow[] {
  const fault = ({ line, column }: Place, expected: string, got: string): Error =>
    usageError(`${printable(file)}, line ${line}, column ${column}: expected ${expected}, got ${printable(got)}`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usageError(`expected ${printable(file)} to be UTF-8, got other bytes; save it as CSV UTF-8`);
  }
  const [header = [], ...lines] = recordsOf(text, fault);
  const names = header.map((field) => field.text);
  for (const [at, field] of header.entries()) {
    const isKnown = columns.some((name) => name === field.text);
    if (!isKnown) throw fault(field, `a column of ${columns.join(', ')}`, JSON.stringify(field.text));
    if (names.indexOf(field.text) < at) throw fault(field, 'each column once', `${field.text} again`);
  }
  const missing = columns.find((name) => name !== optionalColumn && !names.includes(name));
  if (missing !== undefined) throw fault({ line: 1, column: 1 }, `the column ${missing}`, `only ${names.join(', ')}`);
  const rows: ChartRow[] = [];
  const keys = new Map<string, number>();
  const accounts = new Map<string, ChartRow & { readonly line: number }>();
  for (const fields of lines) {
    const [start = { line: 1, column: 1 }] = fields;
    if (fields.length !== header.length)
      throw fault(start, `${header.length} fields`, `${fields.length} (a comma in a text is between quotes)`);
    const of = (name: (typeof columns)[number]): Field => fields[names.indexOf(name)] ?? { ...start, text: '' };
    const [kind, name, code, account] = [of('kind'), of('name'), of('ledger_code'), of('ledger_account')];
    if (!kinds.includes(kind.text)) {
      const nearest = nearestName(kind.text, kinds);
      const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
      throw fault(kind, `a kind or a category (${kinds.join(', ')})`, JSON.stringify(kind.text) + hint);
    }
    for (const field of [code, account]) if (field.text === '') throw fault(field, 'a text', 'an empty field');
    const row = {
      kind: kind.text,
      name: name.text === '' ? undefined : name.text,
      code: code.text,
      account: account.text,
      taxRate: of('taxRate').text || defaultTaxRate,
    };
    const key = JSON.stringify([row.kind, row.name ?? null]);
    const before = keys.get(key);
    if (before !== undefined) throw fault(kind, 'each kind and name once', `those of line ${before}`);
    keys.set(key, start.line);
    const same = accounts.get(row.code);
    if (same !== undefined && (same.account !== row.account || same.taxRate !== row.taxRate)) {
      const [field, other] = same.account === row.account ? [of('taxRate'), same.taxRate] : [account, same.account];
      throw fault(field, `${other}, as ${row.code} has on line ${same.line}`, field.text || 'an empty field');
    }
    accounts.set(row.code, { ...row, line: start.line });
    rows.push(row);
  }
  for (const kind of needed) {
    const has = rows.some((row) => row.kind === kind && row.name === undefined);
    if (!has) throw usageError(`${printable(file)}: expected a row of the kind ${kind} without a name, got none`);
  }
  return rows;
}

interface Place {
  /** From 1, as editors count. */
  readonly line: number;
  readonly column: number;
}

interface Field extends Place {
  readonly text: string;
}

/** The records of a CSV text (RFC 4180) without empty lines. Fields outside of quotes lose the white space around them. */
function recordsOf(
  text: string,
  fault: (place: Place, expected: string, got: string) => Error,
): readonly (readonly Field[])[] {
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/y;
  const records: Field[][] = [];
  let record: Field[] = [];
  let line = 1;
  let lineStart = 0;
  while (field.lastIndex < text.length || record.length > 0) {
    const start = field.lastIndex;
    const place = { line, column: start - lineStart + 1 };
    const found = field.exec(text);
    if (found === null)
      throw fault(place, 'a field, between quotes where it has a quote', text.slice(start, start + 20));
    const [all, quoted, plain = '', end = ''] = found;
    record.push({ ...place, text: quoted?.replaceAll('""', '"') ?? plain.trim() });
    const breaks = [...all.matchAll(/\r\n|\n|\r/g)];
    line += breaks.length;
    const last = breaks.at(-1);
    if (last !== undefined) lineStart = start + last.index + last[0].length;
    if (end === ',') continue;
    if (record.length > 1 || record[0]?.text !== '') records.push(record);
    record = [];
  }
  return records;
}

/** The query of the view `chart_of_accounts` for a chart. */
export function chartQuery(rows: readonly ChartRow[]): string {
  const values = rows.map(
    ({ kind, name, code, account, taxRate }) =>
      `(${[literal(kind), name === undefined ? 'NULL' : literal(name), ...[code, account, taxRate].map(literal)].join(', ')})`,
  );
  return `FROM (VALUES\n  ${values.join(',\n  ')}\n) AS chart_(${columns.join(', ')})`;
}
