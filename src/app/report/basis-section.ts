import { isoInstant } from '../../core/numeric/instant.js';
import { formatCount } from '../../core/text/amounts.js';
import { commandIn } from '../command-text.js';
import { loadingCommand, spansText, type LeftOutDays } from '../query/left-out-days.js';
import { html, type Html } from './html.js';
import { shownIn, currencyText, minuteText } from './report-amounts.js';
import type { FigureReader, FigureRow } from './report-statements.js';

/** Which service the amounts of an account come from, and what of them is not paid yet. */
export interface BasisFigures {
  /** The first instant of loaded transactions (Finances 2024-06-19), ISO 8601; null where there are none. */
  readonly since: string | null;
  /** Each currency by itself. */
  readonly deferred: readonly FigureRow<'deferred'>[];
  /** What the figures leave out; undefined: nothing. */
  readonly leftOut: LeftOutDays | undefined;
}

export async function readBasis({ sql, rows }: FigureReader): Promise<Omit<BasisFigures, 'leftOut'>> {
  const [basis] = await rows(sql.basis);
  return { since: basis?.since ?? null, deferred: await rows(sql.deferred) };
}

/** On which basis an account's figures stand, what they leave out, and a line for the deferred money of each currency. */
export function basisSection({ since, deferred, leftOut }: BasisFigures, lake: string): Html {
  if (since === null) {
    return html`<p class="basis">
      Figures are on the <i>paid</i> basis: an amount counts when Amazon released it (Finances v0).
    </p>`;
  }
  const day = minuteText(isoInstant(Date.parse(since)));
  return html`<p class="basis">
      Figures are on the <i>paid</i> basis: an amount counts when Amazon released it. They come from Finances v0 until
      ${day} UTC, and from transactions (Finances 2024-06-19) from then on.
    </p>
    ${
      leftOut === undefined
        ? undefined
        : html`<p class="look">
            <b>The figures leave days out</b>: Finances v0 has ${spansText(leftOut.windows)}, and transactions have only
            ${spansText(leftOut.loaded)}. This loads what is left out:
            <code>${commandIn({ lake }, loadingCommand(leftOut))}</code>
          </p>`
    }
    ${
      deferred.length === 0
        ? undefined
        : html`<ul class="deferred">
            ${deferred.map(
              (of) =>
                html`<li>
                  Deferred: <b>${shownIn(of.currency)(of.total)} ${currencyText(of.currency)}</b> of
                  ${formatCount(of.times, 'transaction')} is not paid yet, and in no other
                  figure.${of.matures === null ? undefined : html` The last of it matures on <span class="date">${of.matures.slice(0, 10)}</span>.`}
                </li>`,
            )}
          </ul>`
    }`;
}
