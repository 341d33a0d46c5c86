import { createHash } from 'node:crypto';
import { isoInstant, dateOrInstant } from '../../core/numeric/instant.js';
import { formatCount } from '../../core/text/amounts.js';
import { version } from '../../core/version.js';
import { programCommand } from '../command-text.js';
import { coverageText } from '../status/lake-status.js';
import { categories, type CategoryId } from '../query/categories.js';
import { basisHtml, timeZoneText } from './basis.js';
import { percentText, refundRate } from './currency-figures.js';
import { figureTable, html, Html, lakeText, numberColumn, separated, textColumn, type HtmlColumn } from './html.js';
import { currencyName, currencyText, minuteText, shownIn, signOf } from './figure-texts.js';
import type { CurrencyChapter, ReportFacts } from './section.js';
import { concernsOf, type AccountChapter } from './sections.js';
import type { SettlementFigures } from './settlements.js';
import { style } from './style.js';

/** The sums of an account by currency, and what needs attention. */
function overview(account: AccountChapter): Html {
  const { chapters } = account;
  const concerns = concernsOf(account);
  const hasTransfers = chapters.some(
    ({ figures }) => figures !== undefined && signOf(figures.amounts.loans_and_transfers) !== 0,
  );
  const table = figureTable('Each currency by itself', chapters, [
    textColumn('Currency', (chapter) => html`<a href="#${chapter.id}">${currencyText(chapter.currency)}</a>`),
    numberColumn('Earned', (chapter) => html`<b>${money(chapter, chapter.figures?.earned)}</b>`),
    totalColumn('Sales', 'sales'),
    totalColumn('Fees', 'fees'),
    totalColumn('Refunds', 'refunds'),
    numberColumn(
      'Refund rate',
      ({ figures }) => {
        const all = figures?.orders.find(({ ofMonth }) => ofMonth === null);
        return percentText(all && refundRate(all));
      },
      true,
    ),
    ...(hasTransfers ? [totalColumn('Loans and transfers', 'loans_and_transfers')] : []),
    textColumn('Settlements', ({ settlements }) => settlementsText(settlements)),
  ]);
  return html`${chapters.length === 0 ? html`<p class="none">No amounts and no settlements in this period.</p>` : table}
  ${
    concerns.length === 0
      ? html`<p class="well">
          <span class="sign" aria-hidden="true">✓</span> Nothing needs attention: every closed settlement adds up to the
          cent, no day is missing, and no amount was left out.
        </p>`
      : html`<div class="look">
          <h3>Worth a look</h3>
          <ul>
            ${concerns.map(({ concern }) => html`<li>${concern}</li>`)}
          </ul>
        </div>`
  }`;
}

function totalColumn(label: string, category: CategoryId): HtmlColumn<CurrencyChapter> {
  return numberColumn(label, (chapter) => money(chapter, chapter.figures?.amounts[category]), true);
}

function money({ currency }: CurrencyChapter, amount: string | undefined) {
  return amount === undefined ? '–' : shownIn(currency)(amount);
}

/** The settlements by verdict: `5 add up, 1 do not, 1 open`. */
function settlementsText(settlements: readonly SettlementFigures[]): Html {
  const count = (verdict: SettlementFigures['verdict']) =>
    settlements.filter(({ verdict: found }) => found === verdict).length;
  const [good, bad, open] = [count('adds-up'), count('differs'), count('open')];
  const unknown = settlements.length - good - bad - open;
  const parts = [
    good > 0 && html`<span class="verdict good">${formatCount(good)} add up</span>`,
    bad > 0 && html`<span class="verdict bad">${formatCount(bad)} do not</span>`,
    unknown > 0 && `${formatCount(unknown)} not compared`,
    open > 0 && `${formatCount(open)} open`,
  ].filter((part) => part !== false);
  return html`${parts.length === 0 ? 'none' : separated(parts)}`;
}

/** The chapter of one currency. */
function currencyHtml(chapter: CurrencyChapter, { sections }: AccountChapter): Html {
  const { id, currency, figures } = chapter;
  const name = currencyName(currency);
  const code = currencyText(currency);
  const parts = sections.map(({ anchor, title, ofCurrency }) => {
    const content = ofCurrency?.(chapter);
    return (
      content &&
      html`<section id="${id}-${anchor}" aria-labelledby="${id}-${anchor}-h">
        <h4 id="${id}-${anchor}-h">${title}<span class="spoken">, ${code}</span></h4>
        ${content}
      </section>`
    );
  });
  return html`<section class="chapter" id="${id}" aria-labelledby="${id}-h">
    <h3 id="${id}-h">${code}${name !== undefined && html` <small>${name}</small>`}</h3>
    ${figures === undefined && html`<p class="none">No amount in ${code} was loaded by date in this period.</p>`}
    ${parts}
  </section>`;
}

/** The sections of an account that have a chapter of their own. */
function ownChapters({ id, sections }: AccountChapter): (Html | undefined)[] {
  return sections.map(
    ({ anchor, title, ofAccount }) =>
      ofAccount &&
      html`<section class="chapter" id="${id}-${anchor}" aria-labelledby="${id}-${anchor}-h">
        <h3 id="${id}-${anchor}-h">${title}</h3>
        ${ofAccount}
      </section>`,
  );
}

/** Marks a file as a report: no other file is overwritten. */
export const reportMark = '<meta name="generator" content="ledgerlake report">';

/**
 * A report as one HTML file without scripts or requests, which its content security policy forbids. The same figures at the same
 * instant result in the same bytes.
 */
export function reportHtml(
  accounts: readonly AccountChapter[],
  { location, now, isPartial, timeZone }: ReportFacts,
): string {
  const bodies = accounts.map(
    (one) =>
      html`<section id="${one.id}" aria-labelledby="${one.id}-h">
        <h2 id="${one.id}-h">Account ${lakeText(one.account)}</h2>
        ${rangeText(one, isPartial)} ${basisHtml(one.basis, location)} ${overview(one)}
        ${one.chapters.map((chapter) => currencyHtml(chapter, one))} ${ownChapters(one)}
      </section>`,
  );
  const links = accounts.map(
    ({ id, account, chapters, sections }) =>
      html`<ul>
        ${
          accounts.length > 1 &&
          html`<li>
            <a href="#${id}"><b>${lakeText(account)}</b></a>
          </li>`
        }${chapters.map((chapter) => html`<li><a href="#${chapter.id}">${currencyText(chapter.currency)}</a></li>`)}
        ${sections.map(
          ({ anchor, title, ofAccount }) => ofAccount && html`<li><a href="#${id}-${anchor}">${title}</a></li>`,
        )}
      </ul>`,
  );
  const content = html`<body>
    <a class="skip" href="#content">To the figures</a>
    <header>
      <h1>Financial report of ${lakeText(location)}</h1>
      <p class="lead">
        As of ${minuteText(isoInstant(now))} UTC. Sums are exact, and each is in its own currency; currencies are never
        added together. ${timeZoneText(timeZone)}
      </p>
      ${accounts.length > 1 && accountsText(accounts)}
      ${accounts.length > 0 && html`<nav aria-label="Contents">${links}</nav>`}
    </header>
    <main id="content">${accounts.length === 0 ? emptyLake(location) : bodies}</main>
    ${accounts.length > 0 && glossary()}
    <footer>Made by Ledgerlake ${version} from the data in the lake, without requests to the service.</footer>
  </body>`;
  return `<!doctype html>\n${new Html(`<html lang="en">${head(location)}${content.text}</html>`).text}\n`;
}

function head(location: string): string {
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`;
  return html`<head>
    <meta charset="utf-8" />
    ${new Html(reportMark)}
    <meta http-equiv="Content-Security-Policy" content="${new Html(policy)}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="referrer" content="no-referrer" />
    <link rel="icon" href="data:," />
    <title>Financial report of ${location}</title>
    ${new Html(`<style>${style}</style>`)}
  </head>`.text;
}

/** The accounts, which are never summed, like currencies. */
function accountsText(accounts: readonly AccountChapter[]): Html {
  const names = separated(accounts.map(({ account }) => lakeText(account)));
  return html`<p class="lead">The lake holds ${formatCount(accounts.length)} accounts, each by itself: ${names}.</p>`;
}

function rangeText({ id, status: { range, pipelines } }: AccountChapter, isPartial: boolean): Html {
  const lacking = pipelines.filter(({ days }) => days.some(({ state }) => state === 'missing'));
  const dates = `${dateOrInstant(range.start)} to ${dateOrInstant(range.end)}`;
  return html`<p class="lead">
      ${isPartial ? `Data from ${dates}, the end excluded.` : `All data of the lake: ${dates}.`}
    </p>
    ${
      lacking.length > 0 &&
      html`<p class="fault">
        Days are missing:
        ${separated(
          lacking.map(
            ({ pipeline, days }) => html`<a href="#${id}-coverage">${lakeText(pipeline)}</a> has ${coverageText(days)}`,
          ),
        )}.
      </p>`
    }`;
}

/** Definitions of the figures, so that each can be checked with a query. */
function glossary(): Html {
  const meanings = categories.map(
    ({ label, about }) =>
      html`<dt>${label}</dt>
        <dd>${about}</dd>`,
  );
  return html`<section class="chapter" id="words" aria-labelledby="words-h">
    <h2 class="small" id="words-h">What the words mean</h2>
    <dl>
      <dt>Earned</dt>
      <dd>
        Sales, promotions, fees, taxes, refunds and reimbursements together: income and costs of selling, on the paid
        basis. Tax that you remit yourself is included.
      </dd>
      <dt>Net proceeds</dt>
      <dd>
        The sum of all amounts with the role net, by the month of their event: earned amounts, loans and transfers, and
        unknown amounts.
      </dd>
      ${meanings}
      <dt>Deferred, paid basis, earned basis</dt>
      <dd>
        Amazon keeps the money of most sales until a week after delivery: it is deferred. On the paid basis an amount
        counts when it is released, on the earned basis when it happened.
      </dd>
      <dt>Refund rate</dt>
      <dd>
        Orders that were refunded in a period, for each 100 that were shipped in it. Refunds of earlier sales are
        included, so the first months of a lake also have refunds of sales before it.
      </dd>
      <dt>Settlement</dt>
      <dd>
        A period, mostly of two weeks, whose money the marketplace pays out together: its total is its beginning balance
        plus the net of its entries. A payout moves that total to the bank and is no income.
      </dd>
      <dt>Rounded</dt>
      <dd>
        Amounts have the decimal places of their currency, rounded half to even. An amount with more of them has a
        dotted underline, and its title (in print, the brackets after it) has the exact amount. Sums are of exact
        amounts.
      </dd>
      <dt>Entry</dt>
      <dd>One amount of one event. An amount of the role memo repeats other amounts and is in no sum.</dd>
    </dl>
  </section>`;
}

function emptyLake(location: string): Html {
  return html`<p>The lake ${lakeText(location)} holds nothing yet. Load it with</p>
    <pre tabindex="0"><code>${programCommand(['backfill', '--lake', location])}</code></pre>
    <p>
      which loads a synthetic seller, unless an account is configured, or named by <code>--account</code> and
      <code>--endpoint</code>.
    </p>`;
}
