import { createHash } from 'node:crypto';
import { instantText, shellWord } from '../status/backfill-command.js';
import { version } from '../../core/version.js';
import { countText } from './amounts.js';
import { categories } from './categories.js';
import { chaptersOf, currencyChapter, dataChapter } from './chapters.js';
import { html, Html, lakeText } from './html.js';
import type { AccountFigures, LakeFigures } from './lake-figures.js';
import { minuteText } from './late-section.js';
import { currencyText } from './month-section.js';
import { overview } from './overview.js';
import { style } from './style.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** How a report is known again, so that a file of somebody else's is never written over. */
export const reportMark = '<meta name="generator" content="ledgerlake report">';

export interface PageQuestion {
  /** The lake as the user wrote it. */
  readonly location: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether a part of what the lake holds was asked for. */
  readonly isPart: boolean;
}

/**
 * A report as one file: no script, no request, and a content security policy that forbids both. The same figures at the
 * same instant give the same bytes.
 */
export function reportHtml({ accounts, lastRun }: LakeFigures, { location, now, isPart }: PageQuestion): string {
  const ids = accounts.map((_, at) => `a${at + 1}`);
  const chapters = accounts.map((figures, at) => chaptersOf(ids[at] ?? '', figures));
  const bodies = accounts.map((figures, at) => {
    const id = ids[at] ?? '';
    const own = chapters[at] ?? [];
    return html`<section id="${id}" aria-labelledby="${id}-h">
      <h2 id="${id}-h">Account ${lakeText(figures.account)}</h2>
      ${rangeText(figures, isPart)} ${overview(id, figures, own, lastRun)} ${own.map(currencyChapter)}
      ${dataChapter(id, figures, lastRun)}
    </section>`;
  });
  const links = accounts.map((figures, at) => {
    const id = ids[at] ?? '';
    const prefix =
      accounts.length > 1
        ? html`<li>
            <a href="#${id}"><b>${lakeText(figures.account)}</b></a>
          </li>`
        : undefined;
    const own = (chapters[at] ?? []).map((of) => html`<li><a href="#${of.id}">${currencyText(of.currency)}</a></li>`);
    return html`<ul>
      ${prefix}${own}
      <li><a href="#${id}-coverage">Coverage</a></li>
      <li><a href="#${id}-late">Late arrivals</a></li>
      <li><a href="#${id}-noticed">Noticed</a></li>
    </ul>`;
  });
  const content = html`<body>
    <a class="skip" href="#content">To the figures</a>
    <header>
      <h1>Financial report of ${lakeText(location)}</h1>
      <p class="lead">
        As of ${minuteText(isoInstant(now))} UTC. Amounts are exact and each in its own currency; currencies are never
        added together. Days and months are UTC.
      </p>
      ${accounts.length < 2 ? undefined : accountsText(accounts)}
      ${accounts.length === 0 ? undefined : html`<nav aria-label="Contents">${links}</nav>`}
    </header>
    <main id="content">${accounts.length === 0 ? nothing(location) : bodies}</main>
    ${accounts.length === 0 ? undefined : words()}
    <footer>Made by Ledgerlake ${version} from what the lake holds; nothing was asked of the service.</footer>
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

/** Accounts aren't added together either. */
function accountsText(accounts: readonly AccountFigures[]): Html {
  const names = accounts.map(({ account }, at) => html`${at === 0 ? '' : ', '}${lakeText(account)}`);
  return html`<p class="lead">The lake holds ${countText(accounts.length)} accounts, each by itself: ${names}.</p>`;
}

function rangeText({ status: { range } }: AccountFigures, isPart: boolean): Html {
  const dates = `${instantText(range.start)} to ${instantText(range.end)}`;
  return html`<p class="lead">
    ${isPart ? `What stands from ${dates}, the end excluded.` : `All that the lake holds: ${dates}.`}
  </p>`;
}

/** What the figures are made of, so that each of them can be checked with a query. */
function words(): Html {
  const meanings = categories.map(
    ({ label, about }) =>
      html`<dt>${label}</dt>
        <dd>${about}</dd>`,
  );
  return html`<section class="chapter" id="words" aria-labelledby="words-h">
    <h2 class="small" id="words-h">What the words mean</h2>
    <dl>
      <dt>Net proceeds</dt>
      <dd>The sum of all amounts whose role is net, in the month in which their event stands.</dd>
      ${meanings}
      <dt>Refund rate</dt>
      <dd>Orders with a refund, of each 100 orders with a shipment.</dd>
      <dt>Entry</dt>
      <dd>One amount of one event. An amount of the role memo repeats what others count, and is in no sum.</dd>
    </dl>
  </section>`;
}

function nothing(location: string): Html {
  return html`<p>The lake ${lakeText(location)} holds nothing yet. Load it with</p>
    <pre tabindex="0"><code>ledgerlake backfill --lake ${shellWord(location)}</code></pre>`;
}
