const plain = /^[\x20-\x7e]*$/;
/** East Asian wide and full-width characters, which take two cells of a terminal, and emoji shown as pictures. */
const wide =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2fb}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[\d#*]\ufe0f?\u20e3|\p{Regional_Indicator}{2})/u;
/** Created for the first text that needs it: creating it takes as long as printing a table. */
let segmenter: Intl.Segmenter | undefined;
const invisible = /^[\p{Mark}\p{Format}\p{Control}]+$/u;

/** The width in cells of a text without control characters. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes(text)) width += graphemeWidth(segment);
  return width;
}

/** The text; where it is wider than `width` cells (at least 1), its beginning and an ellipsis. */
export function truncateToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (plain.test(text)) return `${text.slice(0, width - 1)}…`;
  let used = 0;
  let end = 0;
  for (const { segment, index } of graphemes(text)) {
    used += graphemeWidth(segment);
    if (used > width - 1) break;
    end = index + segment.length;
  }
  return `${text.slice(0, end)}…`;
}

function graphemes(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

function graphemeWidth(grapheme: string): number {
  if (wide.test(grapheme)) return 2;
  return invisible.test(grapheme) ? 0 : 1;
}

/** Rows of cells as aligned lines: the first column left-aligned, the others right-aligned. */
export function alignedLines(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => {
    const cells = row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)));
    return cells.join('  ').trimEnd();
  });
}

/** A text wrapped to lines of up to `width` characters. A longer word has its own line; text in backticks isn't broken. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    const longer = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && longer.length <= width) lines.splice(-1, 1, longer);
    else lines.push(word);
  }
  return lines;
}

/**
 * A text for a terminal of `width` cells: longer lines of prose are wrapped with indentation. Lines that are indented
 * or have columns are commands and tables and stay unchanged; undefined: all lines stay.
 */
export function wrapForTerminal(text: string, width: number | undefined): string {
  if (width === undefined) return text;
  const fits = (line: string): boolean => displayWidth(line) <= width || /^(?:\s|LINE \d)|\S {2,}\S/.test(line);
  return text
    .split('\n')
    .map((line) => (fits(line) ? line : wrapWords(line, Math.max(width - 2, 20)).join('\n  ')))
    .join('\n');
}

/** A text of paragraphs, wrapped to lines of up to `width` characters. */
export function textLines(text: string, width: number): string[] {
  return text
    .split('\n\n')
    .flatMap((paragraph, at) => [...(at === 0 ? [] : ['']), ...paragraphLines(paragraph, width)]);
}

/** The lines of a paragraph. One whose lines have columns is a list: each line is wrapped below its last column. */
function paragraphLines(paragraph: string, width: number): string[] {
  const lines = paragraph.split('\n');
  if (!lines.some((line) => /\S {2,}\S/.test(line)))
    return wrapWords(lines.map((line) => line.trim()).join(' '), width);
  return lines.flatMap((line) => {
    const [, before = '', text = ''] = /^(\s*(?:\S.*? {2,})?)(\S.*)$/.exec(line) ?? [];
    const [first = '', ...others] = indented(text, before.length, width);
    return [`${before}${first.trimStart()}`, ...others];
  });
}

/** A text wrapped to lines of up to `width` characters, indented by `by` blanks. */
export function indented(text: string, by: number, width: number): string[] {
  return wrapWords(text, Math.max(width - by, 20)).map((line) => `${' '.repeat(by)}${line}`);
}
