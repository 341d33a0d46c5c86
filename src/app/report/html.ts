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
