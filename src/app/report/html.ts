import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';

/** Text that is markup and isn't escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | false | undefined | readonly HtmlValue[];

/** Markup with values: `Html` is inserted, other values are escaped, lists concatenated, false and undefined left out. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? '';
  values.forEach((value, at) => {
    text += htmlText(value) + (strings[at + 1] ?? '');
  });
  return new Html(text);
}

function htmlText(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(htmlText).join('');
  return escaped(String(value));
}

const escapes: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

/** A text escaped for an element or a quoted attribute, with control characters made visible. */
function escaped(text: string): string {
  return printable(text.replaceAll(/[&<>"']/g, (character) => `&${escapes[character] ?? ''};`));
}

/** The text that a page shows of markup, in one line. */
export function plainText({ text }: Html): string {
  return text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => unescapes[name] ?? '')
    .trim();
}

const unescapes = Object.fromEntries(Object.entries(escapes).map(([character, name]) => [name, character]));

/** A column of a table of figures: its heading, and its cell in a row. */
export interface HtmlColumn<T> {
  readonly label: HtmlValue;
  readonly cell: (row: T) => HtmlValue;
  readonly isNumber: boolean;
  /** Whether a narrow page hides it: its content must be elsewhere too. */
  readonly isExtra: boolean;
}

export function textColumn<T>(label: HtmlValue, cell: (row: T) => HtmlValue, isExtra = false): HtmlColumn<T> {
  return { label, cell, isExtra, isNumber: false };
}

export function numberColumn<T>(label: HtmlValue, cell: (row: T) => HtmlValue, isExtra = false): HtmlColumn<T> {
  return { label, cell, isExtra, isNumber: true };
}

export function countColumn<T>(label: HtmlValue, count: (row: T) => number): HtmlColumn<T> {
  return numberColumn(label, (row) => formatCount(count(row)));
}

/** A table of figures, which scrolls sideways on a narrow page. Its first column has the headings of the rows, its foot the sums. */
export function figureTable<T>(
  caption: HtmlValue,
  rows: readonly T[],
  columns: readonly HtmlColumn<T>[],
  foot: readonly HtmlValue[] | false = false,
): Html {
  const feet =
    foot &&
    html`<tfoot>
      ${tableRow(columns, foot)}
    </tfoot>`;
  const cells = (row: T) => columns.map(({ cell }) => cell(row));
  return scrolling(
    html`<table>
      <caption>
        ${caption}
      </caption>
      ${tableHead(columns)}
      <tbody>
        ${rows.map((row) => tableRow(columns, cells(row)))}
      </tbody>
      ${feet}
    </table>`,
  );
}

export function tableHead<T>(columns: readonly HtmlColumn<T>[]): Html {
  const cells = columns.map((column) => html`<th scope="col" ${classOf(column)}>${column.label}</th>`);
  return html`<thead>
    <tr>
      ${cells}
    </tr>
  </thead>`;
}

export function tableRow<T>(columns: readonly HtmlColumn<T>[], cells: readonly HtmlValue[]): Html {
  const row = columns.map((column, at) =>
    at === 0
      ? html`<th scope="row" ${classOf(column)}>${cells[at]}</th>`
      : html`<td${classOf(column)}>${cells[at]}</td>`,
  );
  return html`<tr>
    ${row}
  </tr>`;
}

/** Content that may be wider than the page; the keyboard can scroll it too. */
export function scrolling(content: Html): Html {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Scrolls sideways">${content}</div>`;
}

function classOf<T>({ isNumber, isExtra }: HtmlColumn<T>): Html | undefined {
  if (isNumber) return isExtra ? html` class="n x"` : html` class="n"`;
  return isExtra ? html` class="x"` : undefined;
}

/** Parts with commas between them. */
export function separated(parts: readonly HtmlValue[]): Html[] {
  return parts.map((part, at) => html`${at === 0 ? '' : ', '}${part}`);
}

/** A sign that a screen reader skips, as the text next to it has the same meaning. */
export function signMark(sign: string): Html {
  return html`<span class="sign" aria-hidden="true">${sign}</span>`;
}

/** The UTC day of an ISO 8601 instant, on one line. */
export function dayText(instant: string): Html {
  return html`<span class="date">${instant.slice(0, 10)}</span>`;
}

/** A text from the lake, isolated from the writing direction of the text around it. */
export function lakeText(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

/** A name of several words, such as `FBAPerUnitFulfillmentFee`, which may break between two words. */
export function lakeName(text: string): Html {
  const words = text.split(/(?<=[a-z])(?=[A-Z])/);
  return html`<bdi>${words.map((word, at) => (at === 0 ? word : html`<wbr />${word}`))}</bdi>`;
}

/** An identifier from the lake. */
export function lakeCode(text: string): Html {
  return html`<code><bdi>${text}</bdi></code>`;
}
