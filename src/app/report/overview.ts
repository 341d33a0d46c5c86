import type { LastRun } from '../../lake/upkeep/last-run.js';
import { formatCount } from '../../core/text/amounts.js';
import { amountsIn, countText } from './amounts.js';
import { coverageText } from './coverage-section.js';
import { percentText, rateText } from './fee-section.js';
import { html, type Html, figureTable, lakeText } from './html.js';
import type { AccountFigures } from './lake-figures.js';
import { currencyText } from './month-section.js';
import type { SettlementFigures } from './settlement-figures.js';
import type { CurrencyChapter } from './chapters.js';

/** What an account comes to, currency by currency, and what asks for a second look. */
export function overview(
  id: string,
  figures: AccountFigures,
  chapters: readonly CurrencyChapter[],
  lastRun: LastRun | undefined,
): Html {
  const concerns = concernsOf(id, figures, chapters, lastRun);
  const table = figureTable({
    caption: 'Each currency by itself',
    columns: [
      { label: 'Currency', kind: 'text' },
      { label: 'Net proceeds', kind: 'number' },
      { label: 'Charges', kind: 'number', isExtra: true },
      { label: 'Fees', kind: 'number', isExtra: true },
      { label: 'Refunds', kind: 'number', isExtra: true },
      { label: 'Refund rate', kind: 'number', isExtra: true },
      { label: 'Settlements', kind: 'text' },
    ],
    rows: chapters.map(overviewRow),
  });
  return html`${chapters.length === 0 ? html`<p class="none">No amounts and no settlements in this time.</p>` : table}
  ${
    concerns.length === 0
      ? html`<p class="well">
          <span class="sign" aria-hidden="true">✓</span> Nothing asks for a second look: every closed settlement adds up
          to the cent, no day is missing, and no amount was left out.
        </p>`
      : html`<div class="look">
          <h3>Worth a look</h3>
          <ul>
            ${concerns.map((concern) => html`<li>${concern}</li>`)}
          </ul>
        </div>`
  }`;
}

function overviewRow({ id, currency, figures, settlements }: CurrencyChapter) {
  const amount = amountsIn(currency);
  const unit = html`<span class="x"> ${currency}</span>`;
  const money = (text: string | undefined) => (figures === undefined ? '–' : html`${amount(text ?? '0')}${unit}`);
  const all = figures?.refunds.find(({ month }) => month === null);
  return [
    html`<a href="#${id}">${currencyText(currency)}</a>`,
    html`<b>${money(figures?.net)}</b>`,
    money(figures?.totals.get('charges')),
    money(figures?.totals.get('fees')),
    money(figures?.totals.get('refunds')),
    percentText(all === undefined ? undefined : rateText(all)),
    settlementsText(settlements),
  ];
}

/** `6 closed: all add up to the cent; 1 open`. */
function settlementsText(settlements: readonly SettlementFigures[]): Html {
  const count = (verdict: SettlementFigures['verdict']) => settlements.filter((of) => of.verdict === verdict).length;
  const [good, bad, open, unknown] = [
    count('adds-up'),
    count('differs'),
    count('open'),
    count('not-loaded') + count('forgotten'),
  ];
  const parts = [
    ...(good === 0 ? [] : [html`<span class="verdict good">${countText(good)} add up</span>`]),
    ...(bad === 0 ? [] : [html`<span class="verdict bad">${countText(bad)} do not</span>`]),
    ...(unknown === 0 ? [] : [html`${countText(unknown)} not compared`]),
    ...(open === 0 ? [] : [html`${countText(open)} open`]),
  ];
  return html`${parts.length === 0 ? 'none' : parts.map((part, at) => html`${at === 0 ? '' : ', '}${part}`)}`;
}

/** What an accountant should know before trusting a figure. */
function concernsOf(
  id: string,
  { status, warnings, late }: AccountFigures,
  chapters: readonly CurrencyChapter[],
  lastRun: LastRun | undefined,
): Html[] {
  const concerns: Html[] = [];
  for (const { id: own, currency, settlements, figures } of chapters) {
    const of = currencyText(currency);
    const inSettlements = (count: number, what: string) =>
      concerns.push(html`<a href="#${own}-settlements">${formatCount(count, 'settlement')} in ${of}</a> ${what}.`);
    const differing = settlements.filter(({ verdict }) => verdict === 'differs').length;
    if (differing > 0) inSettlements(differing, `${differing === 1 ? 'does' : 'do'} not add up`);
    const unloaded = settlements.filter(({ verdict }) => verdict === 'not-loaded' || verdict === 'forgotten').length;
    if (unloaded > 0) inSettlements(unloaded, 'could not be compared: not all entries are loaded');
    const inexact = figures?.inexact ?? 0;
    if (inexact > 0) {
      concerns.push(
        html`<a href="#${id}-noticed">${formatCount(inexact, 'net amount')} in ${of}</a>
          ${inexact === 1 ? 'does' : 'do'} not fit a decimal of 18 digits and ${areIs(inexact)} in no figure.`,
      );
    }
  }
  for (const { pipeline, days } of status.pipelines) {
    if (days.every(({ state }) => state === 'full' || state === 'empty')) continue;
    concerns.push(html`<a href="#${id}-coverage">${lakeText(pipeline)}</a>: ${coverageText(days)}.`);
  }
  if (status.unused.length > 0) {
    concerns.push(html`<a href="#${id}-coverage">Nothing was loaded yet</a> of ${status.unused.join(', ')}.`);
  }
  const unknown = warnings.unknownAmounts.reduce((sum, { times }) => sum + times, 0);
  if (unknown > 0) {
    concerns.push(
      html`<a href="#${id}-noticed">${formatCount(unknown, 'amount')}</a> ${areIs(unknown)} of a role that nobody knows,
        and in no figure.`,
    );
  }
  const lists = warnings.unknownLists.length;
  if (lists > 0) {
    concerns.push(
      html`<a href="#${id}-noticed">${formatCount(lists, 'list')} of events</a> ${areIs(lists)} new to the model.`,
    );
  }
  if (late.runCount > 0) {
    concerns.push(
      html`<a href="#${id}-late">Events arrived late or vanished</a>: ${formatCount(late.runCount, 'run')} found changes
        in what they read again.`,
    );
  }
  if (lastRun?.account === status.account && lastRun.status === 'failed') {
    concerns.push(html`<a href="#${id}-noticed">The last run failed.</a>`);
  }
  return concerns;
}

function areIs(count: number): string {
  return count === 1 ? 'is' : 'are';
}
