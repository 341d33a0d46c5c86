import { statement } from './figure-reader.js';
import payoutLinesText from './payout-lines.sql';
import { sheetColumns, type Section } from './section.js';

const payoutLines = statement(payoutLinesText, {
  groupId: 'text',
  currency: 'text',
  category: 'text',
  name: 'textOrNull',
  times: 'count',
  amount: 'decimal',
});

/** The lines of each settlement, which the page has in the settlement: in a table for other programs only. */
export const payoutLinesSection: Section = {
  anchor: 'lines',
  title: 'Lines of settlements',
  sheet: {
    name: 'settlement_lines',
    columns: sheetColumns({ settlement: 'text', category: 'text', name: 'text', times: 'number', amount: 'amount' }),
  },
  read: async ({ rows, settlements, report }) => {
    if (!report.isExport) return {};
    const shown = new Set(settlements.map(({ settlement }) => settlement.id));
    return {
      rows: (await rows(payoutLines))
        .filter(({ groupId }) => shown.has(groupId))
        .map(({ currency, groupId, category, name, times, amount }) => [
          currency,
          groupId,
          category,
          name,
          times,
          amount,
        ]),
    };
  },
};
