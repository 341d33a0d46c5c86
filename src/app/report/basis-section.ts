import { isoInstant } from '../../core/numeric/instant.js';
import { formatCount } from '../../core/text/amounts.js';
import { commandIn, spansText } from '../command-text.js';
import { leftOutCommand, type ComparedDays, type LeftOutDays } from '../coverage/api-days.js';
import { dayText, html, type Html } from './html.js';
import { shownIn, currencyText, minuteText } from './figure-texts.js';
import { statement, type FigureReader, type FigureRow } from './figure-reader.js';
import basisText from './basis.sql';
import deferredText from './deferred.sql';

const basis = statement(basisText, { since: 'textOrNull', isBefore: 'count' });
const deferredSums = statement(deferredText, {
  currency: 'text',
  times: 'count',
  total: 'decimal',
  matures: 'textOrNull',
});

/** The APIs of an account's amounts, and its deferred amounts. */
export interface BasisFigures {
  /** First instant of loaded transactions (Finances 2024-06-19), ISO 8601; null where there are none. */
  readonly since: string | null;
  /** Whether the figures include amounts of v0 before `since`. */
  readonly hasEarlier: boolean;
  /** One row for each currency. */
  readonly deferred: readonly FigureRow<typeof deferredSums>[];
  /** Loaded days of v0 that the figures leave out; undefined: none. */
  readonly leftOut: LeftOutDays | undefined;
  /** Days for which both APIs are loaded; undefined: the same days, or only one is loaded. */
  readonly compared: ComparedDays | undefined;
}

export async function readBasis(rows: FigureReader): Promise<Omit<BasisFigures, 'leftOut' | 'compared'>> {
  const [{ since, isBefore } = { since: null, isBefore: 0 }] = await rows(basis);
  return { since, hasEarlier: isBefore > 0, deferred: await rows(deferredSums) };
}

/** Where the days and months of a report end. */
export function daysText(timeZone: string): string {
  if (timeZone === 'UTC') return 'Days and months are UTC.';
  return `Months begin and end in the time zone ${timeZone}; days are UTC.`;
}

/** The basis of an account's figures, the days that they leave out, and its deferred amounts by currency. */
export function basisSection({ since, hasEarlier, deferred, leftOut, compared }: BasisFigures, lake: string): Html {
  if (since === null) {
    return html`<p class="basis">
      Figures are on the <i>paid</i> basis: an amount counts when Amazon released it (Finances v0).
    </p>`;
  }
  const source = hasEarlier
    ? html`Finances v0 until ${minuteText(isoInstant(Date.parse(since)))} UTC, and from transactions (Finances
      2024-06-19) from then on`
    : html`transactions (Finances 2024-06-19)`;
  return html`<p class="basis">
      Figures are on the <i>paid</i> basis: an amount counts when Amazon released it. They come from ${source}.
      ${
        compared !== undefined &&
        compared.both.length + compared.v0Only.length > 0 &&
        (compared.both.length === 0
          ? 'No day is loaded from both APIs, so that they cannot be compared.'
          : `Both APIs are loaded for ${spansText(compared.both)}: only there can they be compared.`)
      }
    </p>
    ${
      leftOut &&
      html`<p class="look">
        <b>The figures leave days out</b>: Finances v0 has ${spansText(leftOut.windows)}, and transactions have only
        ${spansText(leftOut.loaded)}. This loads the missing ones:
        <code>${commandIn({ lake }, leftOutCommand(leftOut))}</code>
      </p>`
    }
    ${
      deferred.length > 0 &&
      html`<ul class="deferred">
        ${deferred.map(
          (row) =>
            html`<li>
              Deferred: <b>${shownIn(row.currency)(row.total)} ${currencyText(row.currency)}</b> of
              ${formatCount(row.times, 'transaction')} is not paid at the end of this period, and in no other
              figure.${row.matures !== null && html` The last of it matures on ${dayText(row.matures)}.`}
            </li>`,
        )}
      </ul>`
    }`;
}
