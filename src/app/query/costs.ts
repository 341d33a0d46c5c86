import { literal } from '../../core/duckdb/literals.js';
import { readTextFile } from '../../core/io/files.js';
import { readInstant } from '../../core/numeric/instant.js';
import { csvFault, csvRecords } from '../../core/text/csv-records.js';

/** What a unit of a SKU costs from a day on, until the next one of the SKU and the currency. */
export interface CostRow {
  readonly sku: string;
  /** YYYY-MM-DD. */
  readonly from: string;
  /** A decimal text of up to six places. */
  readonly unitCost: string;
  readonly currency: string;
}

const columns = ['sku', 'from', 'unit_cost', 'currency'] as const;

/** The first day of a cost without one. */
const firstDay = '0001-01-01';

/**
 * Reads unit costs.
 *
 * @throws LedgerlakeError USAGE for a file that can't be read, and as `parseCosts`
 */
export async function readCosts(path: string): Promise<readonly CostRow[]> {
  return parseCosts(await readTextFile(path, 'unit costs'), path);
}

/**
 * Unit costs from the text of a CSV file.
 *
 * @param file its name in errors
 * @throws LedgerlakeError USAGE with the line and the column of the first fault
 */
export function parseCosts(text: string, file: string): readonly CostRow[] {
  const lines = new Map<string, number>();
  return csvRecords(text, file, columns, ['from']).map(({ start, of }) => {
    const [sku, from, unitCost, currency] = [of('sku'), of('from'), of('unit_cost'), of('currency')];
    if (sku.text === '') throw csvFault(file, sku, 'a SKU', 'an empty field');
    if (from.text !== '' && !(/^\d{4}-\d\d-\d\d$/.test(from.text) && readInstant(from.text) !== undefined))
      throw csvFault(file, from, 'a date as YYYY-MM-DD, or nothing for all time', JSON.stringify(from.text));
    if (!/^\d{1,12}(?:\.\d{1,6})?$/.test(unitCost.text))
      throw csvFault(file, unitCost, 'a cost such as 12.50, of up to six decimals', JSON.stringify(unitCost.text));
    if (!/^[A-Z]{3}$/.test(currency.text))
      throw csvFault(file, currency, 'a currency such as EUR', JSON.stringify(currency.text));
    const row = { sku: sku.text, from: from.text || firstDay, unitCost: unitCost.text, currency: currency.text };
    const key = JSON.stringify([row.sku, row.from, row.currency]);
    const before = lines.get(key);
    if (before !== undefined)
      throw csvFault(file, sku, 'one cost of a SKU, date and currency', `those of line ${before}`);
    lines.set(key, start.line);
    return row;
  });
}

/** The query of the view `unit_costs` for costs, at least one. */
export function costsQuery(rows: readonly CostRow[]): string {
  const values = rows.map(
    ({ sku, from, unitCost, currency }) => `(${[sku, from, unitCost, currency].map(literal).join(', ')})`,
  );
  const typed = 'sku, CAST(valid_from AS DATE) AS valid_from, CAST(unit_cost AS DECIMAL(18,6)) AS unit_cost, currency';
  return `SELECT ${typed}\nFROM (VALUES\n  ${values.join(',\n  ')}\n) AS costs_(sku, valid_from, unit_cost, currency)`;
}
