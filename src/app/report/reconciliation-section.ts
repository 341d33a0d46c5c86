import { groupBy } from '../../core/group-by.js';
import { literal } from '../../core/duckdb/literals.js';
import reconciliation from '../query/views/reconciliation.sql';
import reconciliationEvents from '../query/views/reconciliation_events.sql';
import { roles } from '../../../pipelines/all-pipelines.js';
import type { PipelineTables } from '../../core/columns/table.js';
import clearedText from './cleared.sql';
import { statement, type FigureRow } from './figure-reader.js';
import { figureTable, html, numberColumn, textColumn, type Html } from './html.js';
import { amountsIn, currencyText, shownIn, signOf } from './figure-texts.js';
import { sheetColumns, type Section } from './section.js';

/** The lines of `reconciliation` with their meanings, in order; the last one is the sum of the others. */
const bankLines: Readonly<Record<string, string>> = {
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

/** The lines of a range, from what was open at its beginning to what was open at its end, as bankLines. */
const clearedLines: Readonly<Record<string, string>> = {
  'open at the beginning': 'What was in settlements, and was not paid out before',
  'by date': 'Net amounts of all events of the period: the net proceeds',
  'in no loaded settlement': 'Events of the period whose settlement is not loaded',
  'in a settlement, not by date':
    'Events of settlements that are not loaded by date, or are newer than the last one that is',
  'on other days': 'Fees without a date: those that settlements have in the period, instead of those by date',
  'beginning balances': 'Balances that no settlement in the lake carried over',
  'settlements without events':
    'Totals of settlements that closed without a loaded event, less their beginning balances',
  'not explained': 'A settlement that closed in the period does not add up to its total',
  'paid out': 'Payouts by the day of their deposit',
  'open at the end': 'What is in settlements, and is not paid out before the end',
};

/** The account's rows of the tables and views that the view reads, so that it reads no other account's. */
const tables = [
  'groups',
  'events',
  'entries',
  'group_events',
  'group_entries',
  'later_events',
  'later_amounts',
  'ledger_amounts',
].map(
  // A materialised CTE would keep all columns of its rows.
  (table) => `${table} AS NOT MATERIALIZED (FROM main.${table} WHERE account = $account)`,
);

/** The account's lines of the view `reconciliation`. */
const bankAmounts = statement(
  `WITH ${tables.join(', ')}, reconciliation_events AS (${reconciliationEvents}) SELECT currency, line, amount FROM (${reconciliation}) ` +
    `ORDER BY currency, list_position([${Object.keys(bankLines).map(literal).join(', ')}], line)`,
  { currency: 'text', line: 'text', amount: 'decimal' },
);

/** The account's lines of a range. */
const clearedAmounts = statement(clearedText, { currency: 'text', line: 'text', amount: 'decimal' });

type ReconciliationLine = FigureRow<typeof bankAmounts>;

/**
 * The steps from the sum by date to the amount that the bank received, in each currency; of a part of the lake, from what was open at
 * its beginning to what was open at its end. There are none where neither v0 was loaded both by date and by settlement nor
 * transactions.
 */
export const reconciliationSection: Section = {
  anchor: 'bank',
  title: 'Reconciliation with the bank',
  sheet: { name: 'reconciliation', columns: sheetColumns({ line: 'text', amount: 'amount' }) },
  read: async ({ account, rows, report: { lake, isPartial } }) => {
    const hasFiles = ({ name, main }: PipelineTables) => lake.snapshot.filesOf(main.name, account, name).length > 0;
    const isLoaded = roles.byDate.some(
      (pipeline) => hasFiles(pipeline) && (pipeline !== roles.events || hasFiles(roles.bySettlement)),
    );
    const lines = !isLoaded ? [] : isPartial ? clearedIn(await rows(clearedAmounts)) : await rows(bankAmounts);
    const byCurrency = groupBy(lines, ({ currency }) => currency);
    return {
      ofCurrency: ({ currency, settlements }) => {
        const ofCurrency = byCurrency.get(currency) ?? [];
        if (!settlements.some(({ settlement }) => settlement.isClosed) && !(isPartial && ofCurrency.length > 0)) {
          return undefined;
        }
        return reconciliationHtml(currency, ofCurrency, isPartial);
      },
      rows: lines.map(({ currency, line, amount }) => [currency, line, amount]),
    };
  },
};

/** Every line of each currency, in order. */
function clearedIn(found: readonly ReconciliationLine[]): ReconciliationLine[] {
  return [...groupBy(found, ({ currency }) => currency)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([currency, lines]) =>
      Object.keys(clearedLines).map((line) => ({
        currency,
        line,
        amount: lines.find((row) => row.line === line)?.amount ?? '0.000000',
      })),
    );
}

/** The steps of one currency. */
function reconciliationHtml(currency: string, lines: readonly ReconciliationLine[], isPartial: boolean): Html {
  const last = lines.at(-1);
  if (last === undefined) {
    return html`<p class="none">
      It needs transactions, or the events of Finances v0 by date and by settlement, which are not loaded.
    </p>`;
  }
  const meanings = isPartial ? clearedLines : bankLines;
  const amount = shownIn(currency);
  const unexplained = lines.find(({ line }) => line === 'not explained')?.amount ?? '0';
  const from = isPartial
    ? 'From what was open at the beginning of this period to what was open at its end'
    : 'From the net amounts by date to the amount received by the bank';
  return html`${figureTable(
    html`${from}, in ${currencyText(currency)}`,
    lines.slice(0, -1),
    [
      textColumn('Line', ({ line }) => sentence(line)),
      numberColumn('Amount', (row) => amount(row.amount)),
      textColumn('What it is', ({ line }) => meanings[line], true),
    ],
    [isPartial ? sentence(last.line) : 'At the bank', amount(last.amount), meanings[last.line]],
  )}
  ${
    signOf(unexplained) !== 0 &&
    html`<p class="fault">
      ${amountsIn(currency)(unexplained)} is not explained: a closed settlement does not add up.
    </p>`
  }`;
}

function sentence(line: string): string {
  return line.replace(/^./, (letter) => letter.toUpperCase());
}
