/**
 * Characters that must not reach a terminal or a reader: control characters (C0 and C1), line separators, characters
 * that change the writing direction or are invisible, lone surrogates. The joiner inside an emoji is allowed.
 */
const unsafe =
  /(?<!\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?(?=\u200d\p{Extended_Pictographic}))[\p{Control}\p{Format}\p{Line_Separator}\p{Paragraph_Separator}\p{Surrogate}]/gu;
const plain = /^[\x20-\x7e]*$/;
const plainLines = /^[\x20-\x7e\n]*$/;
const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * An untrusted text on one line, harmless to a terminal: unsafe characters become escapes (`\n`, `\u001b`, `\u202e`).
 * The escapes are those of JSON: inside a JSON string they mean the same characters.
 */
export function printable(text: string): string {
  return plain.test(text) ? text : text.replaceAll(unsafe, escaped);
}

/** The same, but line feeds stay. All text for people passes through this function last. */
export function printableLines(text: string): string {
  if (plainLines.test(text)) return text;
  return text.replaceAll(unsafe, (character) => (character === '\n' ? character : escaped(character)));
}

/** The same, but line feeds and colour codes stay. */
export function printableColoured(text: string): string {
  return text
    .split(/(\u001b\[(?:0|3[1236])m)/)
    .reduce((all, part, at) => all + (at % 2 === 1 ? part : printableLines(part)), '');
}

/** The id of a run for people: the version of the lake at which it began, and eight characters of what tells it from other runs. */
export function shortRun(run: string): string {
  return run.slice(0, run.indexOf('-') + 9);
}

/** Maximum characters of a message: some lines of a terminal. */
const mostOfMessage = 1200;
/** Words longer than `mostOfWord` are cut to `mostQuoted` characters. Paths of lake files are mostly shorter than the former. */
const mostQuoted = 200;
const mostOfWord = 300;
/** Punctuation behind a cut word. */
const ending = /["'`);:,.]{0,3}$/;
const longWord = new RegExp(`\\S{${mostOfWord + 1},}`, 'gu');

/** Shortens a message: cuts long words, then leaves out the middle where it is still too long. The end stays, as it says what to do. */
export function shortenMessage(message: string): string {
  if (message.length <= mostOfWord) return message;
  const cut = message.replaceAll(
    longWord,
    (word) => `${truncateText(word, mostQuoted)}…${ending.exec(word)?.[0] ?? ''}`,
  );
  if (cut.length <= mostOfMessage) return cut;
  const end = cut.slice(-mostOfMessage / 3).replace(/^\p{Surrogate}/u, '');
  return `${truncateText(cut, (mostOfMessage / 3) * 2)} … ${end}`;
}

/** The first `length` UTF-16 code units of a text, without a lone surrogate at the end. */
export function truncateText(text: string, length: number): string {
  const cut = text.slice(0, length);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

function escaped(character: string): string {
  const code = short[character];
  if (code !== undefined) return code;
  return character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
