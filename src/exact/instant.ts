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
