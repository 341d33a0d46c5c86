import { groupBy } from '../../core/group-by.js';
import { literal } from '../../core/duckdb/literals.js';
import reconciliation from '../query/views/reconciliation.sql';
import reconciliationEvents from '../query/views/reconciliation_events.sql';
import { programCommand } from '../command-text.js';
import { byDate, byGroup, byTransaction, type PipelineTable } from '../coverage/main-tables.js';
import { statement, type FigureRow } from './figure-reader.js';
import { figureTable, html, numberColumn, textColumn, type Html } from './html.js';
import { amountsIn, currencyText, shownIn, signOf } from './report-amounts.js';
import { sheetColumns, type Section } from './section.js';

/** The lines of `reconciliation`, in order. */
const bankLines = [
  'by date',
  'in no loaded settlement',
  'in a settlement, not by date',
  'in open settlements',
  'beginning balances',
  'settlements without events',
  'closed, not paid out',
  'not explained',
  'total',
] as const;

type BankLine = (typeof bankLines)[number];

/** The account's rows of the tables and views that the view reads, so that it reads no other account's. */
const tables = [
  ...['groups', 'events', 'entries', 'group_events', 'group_entries', 'transactions', 'paid_amounts', 'ledger_amounts'],
].map(
  // A materialised CTE would keep all columns of its rows.
  (table) => `${table} AS NOT MATERIALIZED (FROM main.${table} WHERE account = $account)`,
);

/** The account's lines of the view `reconciliation`. */
const bankAmounts = statement(
  `WITH ${tables.join(', ')}, reconciliation_events AS (${reconciliationEvents}) SELECT currency, line, amount FROM (${reconciliation}) ` +
    `ORDER BY currency, list_position([${bankLines.map(literal).join(', ')}], line)`,
  { currency: 'text', line: 'text', amount: 'decimal' },
);

type ReconciliationLine = FigureRow<typeof bankAmounts>;

/**
 * The steps from the sum by date to the amount that the bank received, in each currency. There are none where neither v0 was loaded
 * both by date and by settlement nor transactions, and for a part of the lake, as the events of a settlement were also posted on
 * other days.
 */
export const reconciliationSection: Section = {
  anchor: 'bank',
  title: 'Reconciliation with the bank',
  sheet: { name: 'reconciliation', columns: sheetColumns({ line: 'text', amount: 'amount' }) },
  read: async ({ account, rows, report: { lake, location, isPartial } }) => {
    const hasFiles = ({ pipeline, table }: PipelineTable) => lake.files(pipeline, table, account).length > 0;
    const isLoaded = hasFiles(byTransaction) || (hasFiles(byDate) && hasFiles(byGroup));
    const lines = isLoaded && !isPartial ? await rows(bankAmounts) : [];
    const byCurrency = groupBy(lines, ({ currency }) => currency);
    return {
      ofCurrency: ({ currency, settlements }) => {
        if (!settlements.some(({ settlement }) => settlement.isClosed)) return undefined;
        return isPartial ? noReconciliation(location) : reconciliationHtml(currency, byCurrency.get(currency) ?? []);
      },
      rows: lines.map(({ currency, line, amount }) => [currency, line, amount]),
    };
  },
};

/** The meaning of each line. */
const meanings: Readonly<Record<BankLine, string>> = {
  'by date': 'Net amounts of all events',
  'in no loaded settlement': 'Events whose settlement is not loaded',
  'in a settlement, not by date':
    'Events of settlements that are not loaded by date, or are newer than the last one that is',
  'in open settlements': 'They are paid out when these settlements close',
  'beginning balances': 'Amounts of earlier settlements that were not paid out',
  'settlements without events':
    'Totals of closed settlements of which no event is loaded, less their beginning balances',
  'closed, not paid out': 'The transfer failed or is on its way, or there was nothing to pay',
  'not explained': 'A closed settlement that does not add up to its total',
  total: 'Amount received by the bank: totals of the settlements whose transfer succeeded',
};

/** Replaces the reconciliation in a report on a part of the lake at `location`. */
function noReconciliation(location: string): Html {
  return html`<p class="none">
    It needs the whole lake, without --from and --to: <code>${programCommand(['report', '--lake', location])}</code>.
  </p>`;
}

/** The steps from the sum by date to the amount that the bank received, in one currency. */
function reconciliationHtml(currency: string, lines: readonly ReconciliationLine[]): Html {
  if (lines.length === 0) {
    return html`<p class="none">
      It needs transactions, or the events of Finances v0 by date and by settlement, which are not loaded.
    </p>`;
  }
  const amount = shownIn(currency);
  const [unexplained, total] = (['not explained', 'total'] as const).map(
    (line) => lines.find((row) => row.line === line)?.amount ?? '0',
  );
  return html`${figureTable(
    html`From the net amounts by date to the amount received by the bank, in ${currencyText(currency)}`,
    lines.filter(({ line }) => line !== 'total'),
    [
      textColumn('Line', ({ line }) => line.replace(/^./, (letter) => letter.toUpperCase())),
      numberColumn('Amount', (row) => amount(row.amount)),
      textColumn('What it is', ({ line }) => meanings[line as BankLine], true),
    ],
    ['At the bank', amount(total ?? '0'), meanings.total],
  )}
  ${
    signOf(unexplained ?? '0') !== 0 &&
    html`<p class="fault">
      ${amountsIn(currency)(unexplained ?? '0')} is not explained: a closed settlement does not add up.
    </p>`
  }`;
}
