/** What stands before the decimals of a settlement's amounts: each marketplace writes them in its own form. */
export type DecimalMark = '.' | ',';

/** Digits, in groups of three or in one, then decimals. Groups are divided by the other mark, by blanks or by apostrophes. */
const digitForms: Readonly<Record<DecimalMark, RegExp>> = {
  '.': /^(?:(\d+)|([1-9]\d{0,2}(?:(?:,\d{3})+|(?:[ \u00a0\u202f]\d{3})+|(?:['’]\d{3})+)))?(?:\.(\d+))?$/u,
  ',': /^(?:(\d+)|([1-9]\d{0,2}(?:(?:\.\d{3})+|(?:[ \u00a0\u202f]\d{3})+|(?:['’]\d{3})+)))?(?:,(\d+))?$/u,
};

/** A sign before or behind, or parentheses, which make an amount negative. */
const signForms = /^(?:\((?<inner>[^()]*)\)|(?<before>[-+−])\s*(?<signed>.*)|(?<plain>.*?)(?<behind>[-−])?)$/u;

/** An amount as a plain decimal text, such as `-1234.56`; undefined where it is no number in this form. */
export function plainAmount(text: string, mark: DecimalMark): string | undefined {
  const { inner, before, signed, plain, behind } = signForms.exec(text.trim())?.groups ?? {};
  const [, ungrouped, grouped, decimals] = digitForms[mark].exec(inner ?? signed ?? plain ?? '') ?? [];
  const whole = ungrouped ?? grouped?.replace(/\D/g, '');
  if (whole === undefined && decimals === undefined) return undefined;
  const isNegative = inner !== undefined || behind !== undefined || (before !== undefined && before !== '+');
  return `${isNegative ? '-' : ''}${whole ?? '0'}${decimals === undefined ? '' : `.${decimals}`}`;
}

/** An amount that two forms read differently, or two amounts that no form reads both. */
export interface UnclearAmounts {
  /** Such as `1,234`. */
  readonly text: string;
  /** What it is, or could be. */
  readonly found: string;
}

/**
 * Decides how the amounts of one settlement are written: by those that one form alone reads. `1,234` could be either, and decides nothing;
 * an amount that is none in the form of most others can't be read.
 */
export function decimalMarkOf(texts: Iterable<string>): DecimalMark | UnclearAmounts {
  const only: Record<DecimalMark, string[]> = { '.': [], ',': [] };
  let either: UnclearAmounts | undefined;
  for (const text of new Set(texts)) {
    const [point, comma] = [plainAmount(text, '.'), plainAmount(text, ',')];
    if (point === comma) continue;
    if (point === undefined) only[','].push(text);
    else if (comma === undefined) only['.'].push(text);
    else either ??= { text, found: `${point} or ${comma}` };
  }
  const [points, commas] = [only['.'].length, only[','].length];
  if (points !== commas) return points > commas ? '.' : ',';
  const [point = '', comma = ''] = [only['.'][0], only[','][0]];
  if (points > 0) return { text: point, found: `written with a decimal point, and ${comma} with a decimal comma` };
  return either ?? '.';
}
