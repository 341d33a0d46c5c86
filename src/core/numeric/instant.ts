const dateTime = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * Reads an ISO 8601 date (`2025-03-04`, its midnight) or date-time (`2025-03-04T05:06:07.25Z`, `…T05:06+09:00`) as
 * microseconds since 1970-01-01T00:00:00Z; what is finer than a microsecond is cut. Without a zone it is UTC.
 * Undefined where the text is no date that the calendar has.
 */
export function readInstant(text: string): bigint | undefined {
  const parts = dateTime.exec(text);
  if (parts === null) return undefined;
  const [, year = '', month = '', day = '', hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = parts;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const offset = zoneMinutes(zone);
  if (offset === undefined) return undefined;
  // A Date rolls what the calendar doesn't have over into the next month, so the day is compared with what was asked.
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (Number(year) < 1 || date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day))
    return undefined;
  const seconds = date.getTime() / 1000 + Number(hour) * 3600 + (Number(minute) - offset) * 60 + Number(second);
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

const daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/**
 * The same for the bytes of a text. The form that the service writes, `2025-03-04T05:06:07Z`, is read from its digits; every
 * other one as `readInstant` does.
 */
export function readInstantBytes(bytes: Buffer, start: number, end: number): bigint | undefined {
  return usualInstant(bytes, start, end) ?? readInstant(bytes.toString('utf8', start, end));
}

/** Undefined where the form is another one, or the day can't be told to exist at a glance: days behind the 28th. */
function usualInstant(bytes: Buffer, start: number, end: number): bigint | undefined {
  if (end - start !== 20 || bytes[start + 19] !== 0x5a || bytes[start + 10] !== 0x54) return undefined;
  if (bytes[start + 4] !== 0x2d || bytes[start + 7] !== 0x2d) return undefined;
  if (bytes[start + 13] !== 0x3a || bytes[start + 16] !== 0x3a) return undefined;
  const year = twoDigits(bytes, start) * 100 + twoDigits(bytes, start + 2);
  const month = twoDigits(bytes, start + 5);
  const day = twoDigits(bytes, start + 8);
  const hour = twoDigits(bytes, start + 11);
  const minute = twoDigits(bytes, start + 14);
  const second = twoDigits(bytes, start + 17);
  // A comparison with NaN, which stands for what is no digit, is false.
  const isUsual = year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 28;
  if (!isUsual || !(hour <= 23 && minute <= 59 && second <= 59)) return undefined;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const before = year - 1;
  const leapDays = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400) - 477;
  const days = (year - 1970) * 365 + leapDays + (daysBefore[month - 1] ?? 0) + (isLeap && month > 2 ? 1 : 0) + day - 1;
  return BigInt(days * 86_400 + hour * 3600 + minute * 60 + second) * 1_000_000n;
}

function twoDigits(bytes: Buffer, at: number): number {
  const tens = (bytes[at] ?? 0) - 0x30;
  const ones = (bytes[at + 1] ?? 0) - 0x30;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}

/** Minutes east of UTC, or undefined where there is no such zone. */
function zoneMinutes(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** Milliseconds since 1970 as ISO 8601 in UTC with milliseconds: the form of `window_start` in ids and of requests. */
export function isoInstant(ms: number): string {
  return new Date(ms).toISOString();
}
