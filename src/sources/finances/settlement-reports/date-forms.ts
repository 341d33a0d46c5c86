import { readInstant } from '../../../core/numeric/instant.js';
import { dayMs } from '../../../core/windows.js';

/** The order of the numbers in a date with slashes, such as `03/02/26`. */
export type SlashOrder = 'month-first' | 'day-first';

const microsPerDay = BigInt(dayMs) * 1000n;

const yearFirst = /^(\d{4})[-./](\d{1,2})[-./](\d{1,2})/;
const withDots = /^(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})(?!\d)/;
const withSlashes = /^(\d{1,2})[-/](\d{1,2})[-/](\d{4}|\d{2})(?!\d)/;
const timeOfDay =
  /^(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?: *([AaPp][Mm]))?)?(?: *(UTC|GMT|Z|[+-]\d{2}:?\d{2}))?$/;

/** The day of a text as `2026-03-02`, and what stands behind it. */
function datePart(text: string, order: SlashOrder): { readonly day: string; readonly rest: string } | undefined {
  const year = yearFirst.exec(text);
  const other = withDots.exec(text) ?? withSlashes.exec(text);
  const found = year ?? other;
  if (found === null) return undefined;
  const [all, first = '', second = '', third = ''] = found;
  const isMonthFirst = !withDots.test(text) && order === 'month-first';
  const [y, m, d] =
    year !== null ? [first, second, third] : isMonthFirst ? [third, first, second] : [third, second, first];
  const day = `${y.length === 2 ? `20${y}` : y}-${m.padStart(2, '0')}-${d.padStart(2, '0')}`;
  return { day, rest: text.slice(all.length) };
}

/** The instant of a date, with or without a time, in microseconds since 1970; a time without a zone is UTC. Undefined for another text. */
export function reportInstant(text: string, order: SlashOrder): bigint | undefined {
  const trimmed = text.trim();
  const date = datePart(trimmed, order);
  const time = timeOfDay.exec(date?.rest ?? '');
  if (date === undefined || time === null) return undefined;
  const [, hour, minute = '', second = '00', fraction, half, zone = 'Z'] = time;
  if (hour === undefined) return zone === 'Z' || zone === 'UTC' || zone === 'GMT' ? readInstant(date.day) : undefined;
  const isTwelve = Number(hour) === 12;
  const later = half === undefined ? 0 : /p/i.test(half) ? (isTwelve ? 0 : 12) : isTwelve ? -12 : 0;
  const hours = String(Number(hour) + later).padStart(2, '0');
  const offset = /^[+-]/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(-2)}` : 'Z';
  return readInstant(
    `${date.day}T${hours}:${minute}:${second}${fraction === undefined ? '' : `.${fraction}`}${offset}`,
  );
}

/** The day of a text, in days since 1970-01-01, as it stands there whatever its zone; undefined for another text. */
export function reportDay(text: string, order: SlashOrder): number | undefined {
  const trimmed = text.trim();
  const date = datePart(trimmed, order);
  if (date === undefined || !timeOfDay.test(date.rest)) return undefined;
  const midnight = readInstant(date.day);
  return midnight === undefined ? undefined : Number(midnight / microsPerDay);
}

/**
 * Decides the order of the dates with slashes of one settlement: by a number that can't be a month, else by the days of the settlement,
 * else the month is first, as Amazon writes it.
 *
 * @param isWithin whether a day lies within the settlement
 */
export function slashOrderOf(texts: Iterable<string>, isWithin: (day: number) => boolean): SlashOrder {
  const slashed = [...new Set(texts)].map((text) => text.trim()).filter((text) => withSlashes.test(text));
  const readable = (order: SlashOrder) => slashed.flatMap((text) => reportDay(text, order) ?? []);
  const [month, day] = [readable('month-first'), readable('day-first')];
  if (month.length !== day.length) return month.length > day.length ? 'month-first' : 'day-first';
  const within = (days: readonly number[]) => days.filter(isWithin).length;
  return within(day) > within(month) ? 'day-first' : 'month-first';
}
