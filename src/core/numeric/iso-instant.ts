const shape =
  /^(?<date>\d{4}-\d{2}-\d{2})(?:T(?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d{1,9}))?)?(?:Z|(?<sign>[+-])(?<offsetHour>\d{2})(?::?(?<offsetMinute>\d{2}))?))?$/;

/** Midnight UTC of a calendar day, or undefined where the calendar has no such day. */
function midnight(date: string): number | undefined {
  const year = Number(date.slice(0, 4));
  const month = Number(date.slice(5, 7)) - 1;
  const day = Number(date.slice(8, 10));
  // Not Date.UTC, which takes the years 0 to 99 for 1900 to 1999.
  const instant = new Date(0);
  instant.setUTCFullYear(year, month, day);
  return instant.getUTCMonth() === month && instant.getUTCDate() === day ? instant.getTime() : undefined;
}

/**
 * The instant that an ISO 8601 text names, in milliseconds since 1970-01-01T00:00:00Z, or undefined for any other text.
 *
 * Read are calendar dates (midnight UTC) and date-times to the minute, the second or a fraction of 1 to 9 digits, with
 * `Z` or an offset (`+01:00`, `+0100`, `+01`), years 0000 to 9999, capital `T` and `Z`. `24:00:00` is the end of its
 * day. Not read: a date-time without an offset (it names no instant), leap seconds, days and hours that don't exist,
 * the basic form (`20250131T…`), week and ordinal dates.
 *
 * Digits beyond the millisecond are rounded the way `rounding` says. For both bounds of a half-open range over
 * instants that are whole milliseconds `up` is exact: `t >= bound` and `t < bound` keep their answers.
 */
export function parseInstant(text: string, rounding: 'down' | 'up' = 'down'): number | undefined {
  const parts = shape.exec(text)?.groups;
  const day = parts?.['date'] === undefined ? undefined : midnight(parts['date']);
  if (parts === undefined || day === undefined) return undefined;

  const hour = Number(parts['hour'] ?? 0);
  const minute = Number(parts['minute'] ?? 0);
  const second = Number(parts['second'] ?? 0);
  const nanos = (parts['fraction'] ?? '').padEnd(9, '0');
  const offsetHour = Number(parts['offsetHour'] ?? 0);
  const offsetMinute = Number(parts['offsetMinute'] ?? 0);
  if (hour > 24 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return undefined;
  if (hour === 24 && (minute > 0 || second > 0 || Number(nanos) > 0)) return undefined;

  const local = day + ((hour * 60 + minute) * 60 + second) * 1000 + Number(nanos.slice(0, 3));
  const offset = (offsetHour * 60 + offsetMinute) * 60_000;
  const carry = rounding === 'up' && Number(nanos.slice(3)) > 0 ? 1 : 0;
  return local + carry + (parts['sign'] === '-' ? offset : -offset);
}
