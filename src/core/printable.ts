/**
 * What a terminal or a reader's eye must not get as it is: control characters (C0 and C1), separators of lines, characters that
 * turn the direction of writing or show as nothing, halves of surrogate pairs. The joiner inside of an emoji is none of them.
 */
const unsafe =
  /(?<!\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?(?=\u200d\p{Extended_Pictographic}))[\p{Control}\p{Format}\p{Line_Separator}\p{Paragraph_Separator}\p{Surrogate}]/gu;
const plain = /^[\x20-\x7e]*$/;
const plainLines = /^[\x20-\x7e\n]*$/;
const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * A text from outside on one line and harmless to a terminal: what is unsafe shows as an escape (`\n`, `\u001b`, `\u202e`). The
 * escapes are those of JSON: inside a JSON string they mean the same characters.
 */
export function printable(text: string): string {
  return plain.test(text) ? text : text.replaceAll(unsafe, escaped);
}

/** The same with its line feeds: what all that is written for people goes through last. */
export function printableLines(text: string): string {
  if (plainLines.test(text)) return text;
  return text.replaceAll(unsafe, (character) => (character === '\n' ? character : escaped(character)));
}

/** The same with the colours that a terminal is given. */
export function printableColoured(text: string): string {
  return text
    .split(/(\u001b\[(?:0|3[1236])m)/)
    .reduce((all, part, at) => all + (at % 2 === 1 ? part : printableLines(part)), '');
}

/** Characters of a message: some lines of a terminal. */
const mostOfMessage = 1200;
/** A word from outside is cut to the first; a path of a lake's file, which may be longer, is left whole up to the second. */
const mostQuoted = 200;
const mostOfWord = 300;
/** What a sentence goes on with. */
const ending = /["'`);:,.]{0,3}$/;
const longWord = new RegExp(`\\S{${mostOfWord + 1},}`, 'gu');

/** A message whose long words are cut, and whose middle is left out where it is long still: it ends in what to do. */
export function shortened(message: string): string {
  if (message.length <= mostOfWord) return message;
  const cut = message.replaceAll(
    longWord,
    (word) => `${wholeCharacters(word, mostQuoted)}…${ending.exec(word)?.[0] ?? ''}`,
  );
  if (cut.length <= mostOfMessage) return cut;
  const end = cut.slice(-mostOfMessage / 3).replace(/^\p{Surrogate}/u, '');
  return `${wholeCharacters(cut, (mostOfMessage / 3) * 2)} … ${end}`;
}

/** The beginning of a text, at most so many UTF-16 units and no half of a pair. */
export function wholeCharacters(text: string, length: number): string {
  const cut = text.slice(0, length);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

function escaped(character: string): string {
  const code = short[character];
  if (code !== undefined) return code;
  return character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
