import { printable, wholeCharacters } from '../../core/printable.js';

/** A text with what follows the beginning of each NextToken cut off: they are long, and tell people nothing. */
export function withCutToken(text: string): string {
  return text.replace(/(NextToken=[^&\s]{12})[^&\s]+/g, '$1…');
}

/** Whether a body is a web page instead of JSON, which can't begin like one. */
export function isHtml(body: Uint8Array): boolean {
  return new TextDecoder().decode(body.subarray(0, 64)).trimStart().startsWith('<');
}

/** The beginning of a text from outside, on one line. */
export function excerpt(text: string, length = 200): string {
  // Control characters too: a terminal must not be steered by what a server sends.
  const line = printable(text.replaceAll(/[\s\p{Control}]+/gu, ' ').trim());
  return line.length > length ? `${wholeCharacters(line, length)}…` : line;
}
