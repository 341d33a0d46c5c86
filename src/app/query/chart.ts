import { literal } from '../../core/duckdb/literals.js';
import { usageError } from '../../core/errors.js';
import { readTextFile } from '../../core/io/files.js';
import { printable } from '../../core/printable.js';
import { csvFault, csvRecords, type CsvPlace } from '../../core/text/csv-records.js';
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

/** The accounts that every journal needs. */
const needed = ['clearing', 'bank', 'suspense'] as const;

const kinds = [...[...needed, 'deferred', 'difference'], ...categories.map(({ id }) => id), ...netKinds];

/**
 * Reads a chart of accounts.
 *
 * @throws LedgerlakeError USAGE for a file that can't be read, and as `parseChart`
 */
export async function readChart(path: string): Promise<readonly ChartRow[]> {
  return parseChart(await readTextFile(path, 'a chart of accounts'), path);
}

/**
 * A chart of accounts from the text of a CSV file.
 *
 * @param file its name in errors
 * @throws LedgerlakeError USAGE with the line and the column of the first fault
 */
export function parseChart(text: string, file: string): readonly ChartRow[] {
  const fault = (place: CsvPlace, expected: string, got: string): Error => csvFault(file, place, expected, got);
  const rows: ChartRow[] = [];
  const keys = new Map<string, number>();
  const accounts = new Map<string, ChartRow & { readonly line: number }>();
  for (const { start, of } of csvRecords(text, file, columns, ['taxRate'])) {
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

/** The query of the view `chart_of_accounts` for a chart. */
export function chartQuery(rows: readonly ChartRow[]): string {
  const values = rows.map(
    ({ kind, name, code, account, taxRate }) =>
      `(${[literal(kind), name === undefined ? 'NULL' : literal(name), ...[code, account, taxRate].map(literal)].join(', ')})`,
  );
  return `FROM (VALUES\n  ${values.join(',\n  ')}\n) AS chart_(${columns.join(', ')})`;
}
