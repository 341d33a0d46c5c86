import { isoInstant } from '../../core/numeric/instant.js';
import { formatCount } from '../../core/text/amounts.js';
import { commandIn, spansText } from '../command-text.js';
import type { Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import {
  apiDays,
  comparedDays,
  countedText,
  leftOutCommand,
  leftOutDays,
  type ApiDays,
  type ComparedDays,
  type LeftOutDays,
} from '../coverage/api-days.js';
import { dayText, html, type Html } from './html.js';
import { shownIn, currencyText, minuteText } from './figure-texts.js';
import { statement, type FigureReader, type FigureRow } from './figure-reader.js';
import deferredText from './deferred.sql';

const deferredSums = statement(deferredText, {
  currency: 'text',
  times: 'count',
  total: 'decimal',
  matures: 'textOrNull',
});

/** The APIs of an account's amounts, and its deferred amounts. */
export interface BasisFigures {
  /** Those whose amounts the figures have, the oldest first. */
  readonly apis: readonly ApiDays[];
  /** One row for each currency. */
  readonly deferred: readonly FigureRow<typeof deferredSums>[];
  /** Loaded days that the figures leave out; undefined: none. */
  readonly leftOut: LeftOutDays | undefined;
  /** The days of the loaded APIs; undefined: the same days. */
  readonly compared: ComparedDays | undefined;
}

/** @param range that of the report */
export async function readBasis(lake: Lake, account: string, range: Window, rows: FigureReader): Promise<BasisFigures> {
  const days = apiDays(lake, account);
  const loaded = days.filter((api) => api.loaded.length > 0);
  return {
    apis: days.filter(({ since, until }) => since < until),
    deferred: await rows(deferredSums),
    leftOut: leftOutDays(lake, account, range),
    compared: comparedDays(account, loaded),
  };
}

/** Where the days and months of a report end. */
export function timeZoneText(timeZone: string): string {
  if (timeZone === 'UTC') return 'Days and months are UTC.';
  return `Months begin and end in the time zone ${timeZone}; days are UTC.`;
}

/** The basis of an account's figures, the days that they leave out, and its deferred amounts by currency. */
export function basisHtml({ apis, deferred, leftOut, compared }: BasisFigures, lake: string): Html {
  const sources = apis.map(({ api, until }) =>
    until === Infinity ? api.title : `${api.title} until ${minuteText(isoInstant(until))} UTC`,
  );
  return html`<p class="basis">
      Figures are on the <i>paid</i> basis: an amount counts when Amazon released
      it.${sources.length > 0 && ` They come from ${sources.join(', then from ')}.`}
      ${
        compared &&
        (compared.common.length === 0
          ? 'The APIs have no loaded day in common, so that they cannot be compared.'
          : `The APIs have ${spansText(compared.common)} in common: only there can they be compared.`)
      }
    </p>
    ${
      leftOut &&
      html`<p class="look">
        <b>The figures leave days out</b>: ${leftOut.older.title} has ${spansText(leftOut.windows)}, and
        ${leftOut.newer.api.title} has only ${countedText(leftOut)}. This loads the missing ones:
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
