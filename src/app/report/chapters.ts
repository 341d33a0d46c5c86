import type { LastRun } from '../../lake/upkeep/last-run.js';
import { coverageSection } from './coverage-section.js';
import { currencyName } from './amounts.js';
import { groupedBy } from './cells.js';
import { feeSection, refundSection, skuSection } from './fee-section.js';
import type { CurrencyFigures } from './figures.js';
import { html, type Html } from './html.js';
import type { AccountFigures } from './lake-figures.js';
import { lateSection } from './late-section.js';
import { currencyText, hundredSection, monthSection } from './month-section.js';
import { warningsSection } from './warnings-section.js';
import type { SettlementFigures } from './settlement-figures.js';
import { settlementSection } from './settlement-section.js';

/** What is told of one currency of an account. */
export interface CurrencyChapter {
  /** Anchor. */
  readonly id: string;
  readonly currency: string;
  /** Undefined where only settlements are in this currency. */
  readonly figures: CurrencyFigures | undefined;
  readonly settlements: readonly SettlementFigures[];
}

/** The currencies of an account, the one with most amounts first, those that only settlements are in at the end. */
export function chaptersOf(id: string, { currencies, settlements }: AccountFigures): CurrencyChapter[] {
  const byCurrency = groupedBy(settlements, ({ currency }) => currency);
  const known = currencies.map(({ currency }) => currency);
  const others = [...byCurrency.keys()].filter((currency) => !known.includes(currency)).toSorted();
  return [...known, ...others].map((currency, at) => ({
    id: `${id}-c${at + 1}`,
    currency,
    figures: currencies.find((figures) => figures.currency === currency),
    settlements: byCurrency.get(currency) ?? [],
  }));
}

/** All figures of one currency. */
export function currencyChapter({ id, currency, figures, settlements }: CurrencyChapter): Html {
  const name = currencyName(currency);
  const of = currencyText(currency);
  const part = (key: string, title: string, content: Html) =>
    html`<section id="${id}-${key}" aria-labelledby="${id}-${key}-h">
      <h4 id="${id}-${key}-h">${title}<span class="spoken">, ${of}</span></h4>
      ${content}
    </section>`;
  return html`<section class="chapter" id="${id}" aria-labelledby="${id}-h">
    <h3 id="${id}-h">${of}${name === undefined ? undefined : html` <small>${name}</small>`}</h3>
    ${
      figures === undefined
        ? html`<p class="none">No amount in ${of} was read by date in this time.</p>`
        : html`${part('months', 'Net proceeds by month', monthSection(figures))}
          ${part('hundred', 'Where each 100 of sales goes', hundredSection(figures))}`
    }
    ${part('settlements', 'Settlements', settlementSection(id, currency, settlements))}
    ${
      figures === undefined
        ? undefined
        : html`${part('skus', 'Top SKUs and their fees', skuSection(figures))}
          ${part('fees', 'Fees by name', feeSection(figures))} ${part('refunds', 'Refund rate', refundSection(figures))}`
    }
  </section>`;
}

/** What is told of an account beside its money: what of it is there, what came late, what was unexpected. */
export function dataChapter(id: string, figures: AccountFigures, lastRun: LastRun | undefined): Html {
  const { status, late, warnings, account } = figures;
  const part = (key: string, title: string, content: Html) =>
    html`<section class="chapter" id="${id}-${key}" aria-labelledby="${id}-${key}-h">
      <h3 id="${id}-${key}-h">${title}</h3>
      ${content}
    </section>`;
  return html`${part('coverage', 'Coverage', coverageSection(status, lastRun))}
  ${part('late', 'Late arrivals', lateSection(late, account))}
  ${part('noticed', 'What was noticed', warningsSection(warnings, lastRun, account))}`;
}
