import { printable } from '../../core/printable.js';

/** Text that is markup already: everything else is escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Html | string | number | undefined | readonly Part[];

/** Markup with values in it: what isn't `Html` is escaped, lists stand one after the other, undefined is nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? '';
  parts.forEach((part, at) => {
    text += textOf(part) + (strings[at + 1] ?? '');
  });
  return new Html(text);
}

function textOf(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  return escaped(String(part));
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text as it may stand in an element or a quoted attribute, whatever it holds. */
export function escaped(text: string): string {
  return printable(text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? character));
}

export interface TableColumn {
  readonly label: Part;
  readonly kind: 'text' | 'number';
  /** Left out where the page is narrow: what it says must stand elsewhere too. */
  readonly isExtra?: boolean;
}

interface TableOptions {
  /** What the table is of, with the currency of its amounts. */
  readonly caption: Part;
  readonly columns: readonly TableColumn[];
  /** The first cell of each row is its heading. */
  readonly rows: readonly (readonly Part[])[];
  /** Sums of the columns. */
  readonly foot?: readonly Part[] | undefined;
}

/** A table of figures, which scrolls by itself where the page is too narrow for it. */
export function figureTable({ caption, columns, rows, foot }: TableOptions): Html {
  const line = (cells: readonly Part[]) =>
    html`<tr>
      ${cells.map((cell, at) => cellOf(cell, at, columns))}
    </tr>`;
  const feet =
    foot === undefined
      ? undefined
      : html`<tfoot>
          ${line(foot)}
        </tfoot>`;
  return scrolling(
    html`<table>
      <caption>
        ${caption}
      </caption>
      ${tableHead(columns)}
      <tbody>
        ${rows.map(line)}
      </tbody>
      ${feet}
    </table>`,
  );
}

export function tableHead(columns: readonly TableColumn[]): Html {
  const cells = columns.map((column) => html`<th scope="col" ${classOf(column)}>${column.label}</th>`);
  return html`<thead>
    <tr>
      ${cells}
    </tr>
  </thead>`;
}

/** A cell of a row, its heading where it is the first one. */
export function cellOf(cell: Part, at: number, columns: readonly TableColumn[]): Html {
  const column = columns[at];
  const attribute = column === undefined ? undefined : classOf(column);
  return at === 0 ? html`<th scope="row" ${attribute}>${cell}</th>` : html`<td${attribute}>${cell}</td>`;
}

/** What may be wider than the page. The keyboard scrolls it too. */
export function scrolling(content: Html): Html {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Scrolls sideways">${content}</div>`;
}

function classOf({ kind, isExtra }: TableColumn): Html | undefined {
  if (kind === 'number') return isExtra === true ? html` class="n x"` : html` class="n"`;
  return isExtra === true ? html` class="x"` : undefined;
}

/** A text of the lake's, whatever it holds: it stands by itself, in whatever direction it is written. */
export function lakeText(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

/** An identifier of the lake's. */
export function lakeCode(text: string): Html {
  return html`<code><bdi>${text}</bdi></code>`;
}
