/** The exact texts of DuckDB's values: without a double on the way, and with all their characters. */

import vectors from '@duckdb/node-api/lib/vectors/dataAccessors.js';

/**
 * Makes DuckDB's package return texts unchanged. It decodes all of them, also those inside lists and variants, with one
 * decoder that drops a leading U+FEFF.
 */
export function keepByteOrderMarks(): void {
  Object.assign(vectors, { textDecoder: new TextDecoder('utf-8', { ignoreBOM: true }) });
}

/** Days since 1970-01-01 as `2025-03-04`; years before 0000 and after 9999 as ISO 8601's six digits and a sign. */
export function dateText(days: number): string {
  if (Math.abs(days) === 2 ** 31 - 1) return days < 0 ? '-infinity' : 'infinity';
  // Days from 0000-03-01 on, so that a leap day ends its year, in eras of 400 years, which all have the same length.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const fromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * fromMarch + 2) / 5) + 1;
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${yearText(year)}-${pad(month)}-${pad(day)}`;
}

const infinite = 2n ** 63n - 1n;

/**
 * Ticks since 1970-01-01T00:00:00 as ISO 8601: `2025-03-04T05:06:07` and a fraction only where there is one, of three,
 * six or nine digits. `digits`: how many decimals of a second a tick has (6: microseconds). `zone` is put behind it.
 */
export function ticksText(ticks: bigint, digits: 0 | 3 | 6 | 9, zone: '' | 'Z'): string {
  if (ticks === infinite) return 'infinity';
  if (ticks === -infinite) return '-infinity';
  const unit = 10n ** BigInt(digits);
  let fraction = ticks % unit;
  let whole = ticks / unit;
  if (fraction < 0n) {
    fraction += unit;
    whole -= 1n;
  }
  const seconds = Number(whole);
  const days = Math.floor(seconds / 86_400);
  const secondOfDay = seconds - days * 86_400;
  const time = `${pad(Math.floor(secondOfDay / 3600))}:${pad(Math.floor(secondOfDay / 60) % 60)}:${pad(secondOfDay % 60)}`;
  return `${dateText(days)}T${time}${fractionText(fraction, digits)}${zone}`;
}

/** A 32-bit float as the shortest number that is that float: 0.1, not 0.10000000149011612. */
export function floatNumber(value: number): number {
  for (let precision = 1; precision < 9; precision++) {
    const short = Number(value.toPrecision(precision));
    if (Object.is(Math.fround(short), value)) return short;
  }
  return value;
}

function fractionText(fraction: bigint, digits: number): string {
  if (fraction === 0n) return '';
  return `.${String(fraction)
    .padStart(digits, '0')
    .replace(/(?:000)+$/, '')}`;
}

function yearText(year: number): string {
  if (year >= 0 && year <= 9999) return String(year).padStart(4, '0');
  return `${year < 0 ? '-' : '+'}${String(Math.abs(year)).padStart(6, '0')}`;
}

function pad(number: number): string {
  return String(number).padStart(2, '0');
}
