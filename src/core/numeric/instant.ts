const form =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:([.,])(\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/;

interface InstantParts {
  readonly year: number;
  /** Midnight UTC of the day, in milliseconds since 1970. */
  readonly midnight: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly separator: string;
  /** Digits behind the separator. */
  readonly fraction: string;
  readonly hasTime: boolean;
  /** As written; undefined where the text has none. */
  readonly zone: string | undefined;
  /** Minutes east of UTC. */
  readonly offset: number;
}

/** The parts of an ISO 8601 date or date-time in extended form; undefined where the date or time doesn't exist. */
function instantParts(text: string): InstantParts | undefined {
  const parts = form.exec(text);
  if (parts === null) return undefined;
  const [, year = '', month = '', day = '', hour, minute = '0', second = '0', separator = '', fraction = '', zone] =
    parts;
  const offset = zoneMinutes(zone ?? 'Z');
  if (offset === undefined || Number(minute) > 59 || Number(second) > 59) return undefined;
  // Not Date.UTC, which maps the years 0 to 99 to 1900 to 1999. A Date rolls a day that doesn't exist over into the
  // next month, so month and day are compared.
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  const time = { hour: Number(hour ?? 0), minute: Number(minute), second: Number(second) };
  return {
    year: Number(year),
    midnight: date.getTime(),
    ...time,
    separator,
    fraction,
    hasTime: hour !== undefined,
    zone,
    offset,
  };
}

/**
 * Reads an ISO 8601 date (`2025-03-04`, its midnight) or date-time (`2025-03-04T05:06:07.25Z`, `…T05:06+09:00`) as
 * microseconds since 1970-01-01T00:00:00Z; finer fractions are truncated. Without a zone it is UTC. Undefined where the
 * text is no existing date.
 */
export function readInstant(text: string): bigint | undefined {
  const parts = instantParts(text);
  if (parts === undefined || parts.year < 1 || parts.hour > 23) return undefined;
  if (parts.separator === ',' || parts.zone?.length === 3) return undefined;
  const { midnight, hour, minute, second, fraction, offset } = parts;
  const seconds = midnight / 1000 + hour * 3600 + (minute - offset) * 60 + second;
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

/**
 * The instant of a request parameter, in milliseconds since 1970-01-01T00:00:00Z; undefined for any other text.
 *
 * It differs from `readInstant` as the service does: a date-time needs an offset (`Z`, `+01:00`, `+0100`, `+01`), the
 * fraction may follow a comma, `24:00:00` is the end of its day, and the year 0000 exists. Leap seconds, the basic form
 * (`20250131T…`), week and ordinal dates are not read.
 *
 * Digits beyond the millisecond are rounded by `rounding`. For both bounds of a half-open range over instants that are
 * whole milliseconds `up` is exact: `t >= bound` and `t < bound` keep their answers.
 */
export function parseInstant(text: string, rounding: 'down' | 'up' = 'down'): number | undefined {
  const parts = instantParts(text);
  if (parts === undefined || (parts.hasTime && parts.zone === undefined)) return undefined;
  const { midnight, hour, minute, second, offset } = parts;
  const nanos = parts.fraction.padEnd(9, '0');
  if (hour > 24 || (hour === 24 && (minute > 0 || second > 0 || Number(nanos) > 0))) return undefined;
  const carry = rounding === 'up' && Number(nanos.slice(3)) > 0 ? 1 : 0;
  return midnight + ((hour * 60 + minute - offset) * 60 + second) * 1000 + Number(nanos.slice(0, 3)) + carry;
}

/** Days of a year before each month, and before the next year. */
const daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/**
 * The same for the bytes of a text. The forms that the service writes, `2025-03-04T05:06:07Z` and `…07.890Z`, are read
 * from their digits; others by `readInstant`.
 */
export function readInstantBytes(bytes: Buffer, start: number, end: number): bigint | undefined {
  return usualInstant(bytes, start, end) ?? readInstant(bytes.toString('utf8', start, end));
}

/** Undefined for another form, and for a day that doesn't exist. */
function usualInstant(bytes: Buffer, start: number, end: number): bigint | undefined {
  if (end - start < 20 || bytes[end - 1] !== 0x5a || bytes[start + 10] !== 0x54) return undefined;
  if (bytes[start + 4] !== 0x2d || bytes[start + 7] !== 0x2d) return undefined;
  if (bytes[start + 13] !== 0x3a || bytes[start + 16] !== 0x3a) return undefined;
  const year = twoDigits(bytes, start) * 100 + twoDigits(bytes, start + 2);
  const month = twoDigits(bytes, start + 5);
  const day = twoDigits(bytes, start + 8);
  const hour = twoDigits(bytes, start + 11);
  const minute = twoDigits(bytes, start + 14);
  const second = twoDigits(bytes, start + 17);
  const millionths = fractionAt(bytes, start + 19, end - 1);
  // Anything but a digit gives NaN, and a comparison with NaN is false.
  if (!(year >= 1970 && month >= 1 && month <= 12 && day >= 1 && hour <= 23 && minute <= 59)) return undefined;
  if (!(second <= 59 && millionths >= 0)) return undefined;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const beforeMonth = daysBefore[month - 1] ?? 0;
  if (day > (daysBefore[month] ?? 0) - beforeMonth + (isLeap && month === 2 ? 1 : 0)) return undefined;
  const before = year - 1;
  const leapDays = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400) - 477;
  const days = (year - 1970) * 365 + leapDays + beforeMonth + (isLeap && month > 2 ? 1 : 0) + day - 1;
  const seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
  return BigInt(seconds) * 1_000_000n + BigInt(millionths);
}

/** Millionths of a second from a point and up to six digits; 0 where the text is empty, NaN for anything else. */
function fractionAt(bytes: Buffer, start: number, end: number): number {
  if (start === end) return 0;
  const digits = end - start - 1;
  if (bytes[start] !== 0x2e || digits < 1 || digits > 6) return NaN;
  let fraction = 0;
  for (let at = start + 1; at < end; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return NaN;
    fraction = fraction * 10 + digit;
  }
  return fraction * 10 ** (6 - digits);
}

function twoDigits(bytes: Buffer, at: number): number {
  const tens = (bytes[at] ?? 0) - 0x30;
  const ones = (bytes[at + 1] ?? 0) - 0x30;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}

/** Minutes east of UTC; undefined for an invalid offset. */
function zoneMinutes(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = zone.length === 3 ? 0 : Number(zone.slice(-2));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** Microseconds since 1970 as milliseconds. */
export function millisecondsOf(micros: bigint): number {
  return Number(micros / 1000n);
}

/** Milliseconds since 1970 as ISO 8601 in UTC with milliseconds: the form of `window_start` in ids and of requests. */
export function isoInstant(ms: number): string {
  return new Date(ms).toISOString();
}

/** The same without milliseconds where there are none: `2025-03-04T05:06:07Z`. */
export function shortInstant(ms: number): string {
  return isoInstant(ms).replace('.000Z', 'Z');
}

/** The UTC day of an instant: `2025-03-04`. */
export function isoDate(ms: number): string {
  return isoInstant(ms).slice(0, 10);
}

/** The shortest of these: a date for a midnight in UTC, else `shortInstant`. */
export function dateOrInstant(ms: number): string {
  return ms % 86_400_000 === 0 ? isoDate(ms) : shortInstant(ms);
}
