import type { Seller } from '../../../src/emulator/seller/seller.js';
import { reportColumns } from '../../sources/finances/settlement-reports/report-file.js';

/** Writes an amount in the form of its marketplace. */
export type AmountForm = (text: string) => string;

const amountColumns = ['total-amount', 'amount'] as const;

/** The settlement reports of a synthetic seller's closed settlements, one text each. */
export async function sellerReports(seller: Seller, form: AmountForm = (text) => text): Promise<string[]> {
  const texts: string[] = [];
  for (const report of seller.byReport.allReports(seller.history().until)) {
    const { text } = await seller.byReport.documentOf(report);
    const [names = '', ...lines] = text.split('\n');
    const written = lines.map((line) => {
      const fields = line.split('\t');
      for (const column of amountColumns) {
        const position = reportColumns.indexOf(column);
        const amount = fields[position] ?? '';
        if (amount !== '') fields[position] = form(amount);
      }
      return fields.join('\t');
    });
    texts.push([names, ...written].join('\n'));
  }
  return texts;
}
