import { printable, wholeCharacters } from '../../core/printable.js';

/** A text with each NextToken shortened: they are long, and mean nothing to people. */
export function withCutToken(text: string): string {
  return text.replace(/(NextToken=[^&\s]{12})[^&\s]+/gi, '$1…');
}

/** Whether a body is a web page instead of JSON, which can't begin like one. */
export function isHtml(body: Uint8Array): boolean {
  return new TextDecoder().decode(body.subarray(0, 64)).trimStart().startsWith('<');
}

/** The beginning of a text from outside, on one line. */
export function excerpt(text: string, length = 200): string {
  // Control characters too: what a server sends must not control a terminal.
  const line = printable(text.replaceAll(/[\s\p{Control}]+/gu, ' ').trim());
  return line.length > length ? `${wholeCharacters(line, length)}…` : line;
}
