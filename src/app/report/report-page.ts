import { groupBy } from '../../core/group-by.js';
import { createHash } from 'node:crypto';
import { isoInstant } from '../../core/numeric/instant.js';
import { formatCount } from '../../core/text/amounts.js';
import { version } from '../../core/version.js';
import type { LastRun } from '../../lake/upkeep/last-run.js';
import { shortIsoInstant, programCommand } from '../command-text.js';
import { coverageText, type AccountStatus } from '../status/lake-status.js';
import { categories, type CategoryId } from '../query/categories.js';
import { basisSection, type BasisFigures } from './basis-section.js';
import { coverageSection } from './coverage-section.js';
import {
  dayText,
  figureTable,
  html,
  Html,
  lakeText,
  numberColumn,
  separated,
  textColumn,
  type HtmlColumn,
} from './html.js';
import { lateSection, type LateFigures } from './late-section.js';
import {
  feeSection,
  salesBreakdownSection,
  monthSection,
  percentText,
  rateText,
  refundSection,
  skuSection,
  type CurrencyFigures,
} from './money-section.js';
import { currencyName, currencyText, minuteText, moneyText, shownIn, signOf, timesOf } from './report-amounts.js';
import { noReconciliation, reconciliationSection, type ReconciliationLine } from './reconciliation-section.js';
import { isUnpaid, laterPaymentText, settlementSection, type SettlementFigures } from './settlement-section.js';
import { style } from './style.js';
import { warningsSection, type WarningFigures } from './warnings-section.js';

/** All figures of one account. */
export interface AccountFigures {
  readonly account: string;
  /** Coverage and the reported range. */
  readonly status: AccountStatus;
  readonly basis: BasisFigures;
  readonly currencies: readonly CurrencyFigures[];
  readonly settlements: readonly SettlementFigures[];
  readonly reconciliation: readonly ReconciliationLine[];
  readonly late: LateFigures;
  readonly warnings: WarningFigures;
}

/** An account with its anchor and a chapter for each currency. */
interface AccountChapter extends AccountFigures {
  readonly id: string;
  readonly chapters: readonly CurrencyChapter[];
}

/** The sums of an account by currency, and what needs attention. */
function overview(account: AccountChapter, lastRun: LastRun | undefined): Html {
  const { chapters } = account;
  const concerns = concernsOf(account, lastRun);
  const hasTransfers = chapters.some(
    ({ figures }) => figures !== undefined && signOf(figures.totals.loans_and_transfers) !== 0,
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
        const all = figures?.refunds.find(({ ofMonth }) => ofMonth === null);
        return percentText(all && rateText(all));
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
            ${concerns.map((concern) => html`<li>${concern}</li>`)}
          </ul>
        </div>`
  }`;
}

function totalColumn(label: string, category: CategoryId): HtmlColumn<CurrencyChapter> {
  return numberColumn(label, (chapter) => money(chapter, chapter.figures?.totals[category]), true);
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

/** What an accountant should check before trusting the figures. */
function concernsOf(chapter: AccountChapter, lastRun: LastRun | undefined): Html[] {
  const { id, chapters, status, late } = chapter;
  const [lateRun] = late.runs;
  const hasFailed = lastRun?.account === status.account && lastRun.status === 'failed';
  return [
    ...chapters.flatMap((currency) => currencyConcerns(id, currency)),
    ...coverageConcerns(chapter),
    ...modelConcerns(chapter),
    lateRun !== undefined &&
      html`<a href="#${id}-late">Events arrived late or vanished</a>: ${formatCount(lateRun.runs, 'run')} found changes
        in what they re-read.`,
    hasFailed && html`<a href="#${id}-noticed">The last run failed.</a>`,
  ].filter((concern) => concern !== false);
}

/** Settlements that don't add up or failed, and amounts that don't fit, in one currency. */
function currencyConcerns(id: string, { id: link, currency, settlements, figures }: CurrencyChapter): Html[] {
  const code = currencyText(currency);
  const settlementsConcern = (count: number, problem: string) =>
    html`<a href="#${link}-settlements">${formatCount(count, 'settlement')} in ${code}</a> ${problem}.`;
  const differing = settlements.filter(({ verdict }) => verdict === 'differs').length;
  const unloaded = settlements.filter(({ verdict }) => verdict === 'not-loaded' || verdict === 'forgotten').length;
  const inexact = figures?.inexact ?? 0;
  return [
    differing > 0 && settlementsConcern(differing, `${differing === 1 ? 'does' : 'do'} not add up`),
    unloaded > 0 && settlementsConcern(unloaded, 'could not be compared: not all entries are loaded'),
    unpaidConcern(link, currency, settlements.filter(isUnpaid)),
    inexact > 0 &&
      html`<a href="#${id}-noticed">${formatCount(inexact, 'net amount')} in ${code}</a>
        ${inexact === 1 ? 'does' : 'do'} not fit a decimal of 18 digits and ${isAre(inexact)} in no figure.`,
  ].filter((concern) => concern !== false);
}

/** Failed payouts, with the details of the newest; false where there is none. */
function unpaidConcern(link: string, currency: string, unpaid: readonly SettlementFigures[]): Html | false {
  const [newest] = unpaid;
  if (newest === undefined) return false;
  const { total, paidAt } = newest.settlement;
  const date = paidAt !== null && html` of ${dayText(shortIsoInstant(paidAt))}`;
  const amount = total !== null && html` over ${moneyText(total, currency)}`;
  const failed = `${formatCount(unpaid.length, 'payout')} in ${currencyText(currency)} failed`;
  return html`<a href="#${link}-settlements">${failed}</a>: the bank did not take
    ${unpaid.length === 1 ? 'that' : 'the newest'}${date}${amount}${laterPaymentText(newest)}.`;
}

/** Pipelines with gaps, and those without a load. */
function coverageConcerns({ id, status }: AccountChapter): Html[] {
  const concerns = status.pipelines
    .filter(({ days }) => days.some(({ state }) => state !== 'full' && state !== 'empty'))
    .map(({ pipeline, days }) => html`<a href="#${id}-coverage">${lakeText(pipeline)}</a>: ${coverageText(days)}.`);
  if (status.unused.length === 0) return concerns;
  return [...concerns, html`<a href="#${id}-coverage">Nothing was loaded yet</a> of ${status.unused.join(', ')}.`];
}

/** Amounts and lists that the model doesn't know. */
function modelConcerns({ id, warnings }: AccountChapter): Html[] {
  const unknown = timesOf(warnings.unknownAmounts);
  const kinds = timesOf(warnings.unknownKinds);
  const lists = warnings.unknownLists.length;
  return [
    unknown > 0 &&
      html`<a href="#${id}-noticed">${formatCount(unknown, 'amount')}</a> ${isAre(unknown)} of an unknown role and in no
        figure.`,
    kinds > 0 &&
      html`<a href="#${id}-noticed">${formatCount(kinds, 'net amount')}</a> ${isAre(kinds)} of an unknown kind and not
        in the earned amounts.`,
    lists > 0 &&
      html`<a href="#${id}-noticed">${formatCount(lists, 'list')} of events</a> ${isAre(lists)} new to the model.`,
  ].filter((concern) => concern !== false);
}

function isAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

/** The figures of one currency of an account. */
interface CurrencyChapter {
  /** Anchor in the page. */
  readonly id: string;
  readonly currency: string;
  /** Undefined where the currency occurs in settlements alone. */
  readonly figures: CurrencyFigures | undefined;
  readonly settlements: readonly SettlementFigures[];
  readonly reconciliation: readonly ReconciliationLine[];
}

/** The currencies of an account, the one with the most amounts first, those of settlements alone last. */
function currencyChapters(id: string, { currencies, settlements, reconciliation }: AccountFigures): CurrencyChapter[] {
  const byCurrency = groupBy(settlements, ({ currency }) => currency);
  const known = currencies.map(({ currency }) => currency);
  const others = [...byCurrency.keys()].filter((currency) => !known.includes(currency)).toSorted();
  return [...known, ...others].map((currency, at) => ({
    id: `${id}-c${at + 1}`,
    currency,
    figures: currencies.find((figures) => figures.currency === currency),
    settlements: byCurrency.get(currency) ?? [],
    reconciliation: reconciliation.filter((line) => line.currency === currency),
  }));
}

/** The chapter of one currency. */
function currencyChapter(
  { id, currency, figures, settlements, reconciliation }: CurrencyChapter,
  { location, isPartial }: PageQuestion,
): Html {
  const name = currencyName(currency);
  const code = currencyText(currency);
  const part = (key: string, title: string, content: Html) =>
    html`<section id="${id}-${key}" aria-labelledby="${id}-${key}-h">
      <h4 id="${id}-${key}-h">${title}<span class="spoken">, ${code}</span></h4>
      ${content}
    </section>`;
  return html`<section class="chapter" id="${id}" aria-labelledby="${id}-h">
    <h3 id="${id}-h">${code}${name !== undefined && html` <small>${name}</small>`}</h3>
    ${
      figures === undefined
        ? html`<p class="none">No amount in ${code} was loaded by date in this period.</p>`
        : html`${part('months', 'Earned by month', monthSection(figures))}
          ${part('hundred', 'Where each 100 of sales goes', salesBreakdownSection(figures))}`
    }
    ${part('settlements', 'Settlements', settlementSection(id, currency, settlements, isPartial))}
    ${
      settlements.some(({ settlement }) => settlement.isClosed) &&
      part(
        'bank',
        'Reconciliation with the bank',
        isPartial ? noReconciliation(location) : reconciliationSection(currency, reconciliation),
      )
    }
    ${
      figures &&
      html`${part('skus', 'Top SKUs and their fees', skuSection(figures))}
      ${part('fees', 'Fees by name', feeSection(figures))} ${part('refunds', 'Refund rate', refundSection(figures))}`
    }
  </section>`;
}

/** The chapters of an account about its data: coverage, late arrivals and warnings. */
function dataChapter(
  { id, status, basis, late, warnings, account }: AccountChapter,
  lastRun: LastRun | undefined,
): Html {
  const part = (key: string, title: string, content: Html) =>
    html`<section class="chapter" id="${id}-${key}" aria-labelledby="${id}-${key}-h">
      <h3 id="${id}-${key}-h">${title}</h3>
      ${content}
    </section>`;
  return html`${part('coverage', 'Coverage', coverageSection(status, basis, lastRun))}
  ${part('late', 'Late arrivals', lateSection(late, account))}
  ${part('noticed', 'Warnings', warningsSection(warnings, lastRun, account))}`;
}

/** Marks a file as a report: no other file is overwritten. */
export const reportMark = '<meta name="generator" content="ledgerlake report">';

interface PageQuestion {
  readonly lastRun: LastRun | undefined;
  /** The lake's location as given by the user. */
  readonly location: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether the report covers a part of the lake's data only. */
  readonly isPartial: boolean;
}

/**
 * A report as one HTML file without scripts or requests, which its content security policy forbids. The same figures at the same
 * instant result in the same bytes.
 */
export function reportHtml(accounts: readonly AccountFigures[], question: PageQuestion): string {
  const { lastRun, location, now, isPartial } = question;
  const chapters = accounts.map((figures, at): AccountChapter => {
    const id = `a${at + 1}`;
    return { ...figures, id, chapters: currencyChapters(id, figures) };
  });
  const bodies = chapters.map(
    (one) =>
      html`<section id="${one.id}" aria-labelledby="${one.id}-h">
        <h2 id="${one.id}-h">Account ${lakeText(one.account)}</h2>
        ${rangeText(one, isPartial)} ${basisSection(one.basis, location)} ${overview(one, lastRun)}
        ${one.chapters.map((chapter) => currencyChapter(chapter, question))} ${dataChapter(one, lastRun)}
      </section>`,
  );
  const links = chapters.map(
    ({ id, account, chapters: currencies }) =>
      html`<ul>
        ${
          accounts.length > 1 &&
          html`<li>
            <a href="#${id}"><b>${lakeText(account)}</b></a>
          </li>`
        }${currencies.map((chapter) => html`<li><a href="#${chapter.id}">${currencyText(chapter.currency)}</a></li>`)}
        <li><a href="#${id}-coverage">Coverage</a></li>
        <li><a href="#${id}-late">Late arrivals</a></li>
        <li><a href="#${id}-noticed">Warnings</a></li>
      </ul>`,
  );
  const content = html`<body>
    <a class="skip" href="#content">To the figures</a>
    <header>
      <h1>Financial report of ${lakeText(location)}</h1>
      <p class="lead">
        As of ${minuteText(isoInstant(now))} UTC. Sums are exact, and each is in its own currency; currencies are never
        added together. Days and months are UTC.
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
function accountsText(accounts: readonly AccountFigures[]): Html {
  const names = separated(accounts.map(({ account }) => lakeText(account)));
  return html`<p class="lead">The lake holds ${formatCount(accounts.length)} accounts, each by itself: ${names}.</p>`;
}

function rangeText({ id, status: { range, pipelines } }: AccountChapter, isPartial: boolean): Html {
  const lacking = pipelines.filter(({ days }) => days.some(({ state }) => state === 'missing'));
  const dates = `${shortIsoInstant(range.start)} to ${shortIsoInstant(range.end)}`;
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
        Sales, promotions, fees, taxes, refunds and reimbursements together: income and costs of selling. Tax that you
        remit yourself is included.
      </dd>
      <dt>Net proceeds</dt>
      <dd>
        The sum of all amounts with the role net, by the month of their event: earned amounts, and loans and transfers.
      </dd>
      ${meanings}
      <dt>Deferred, paid basis</dt>
      <dd>
        Amazon keeps the money of most sales until a week after delivery: it is deferred. On the paid basis an amount
        counts when it is released.
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
