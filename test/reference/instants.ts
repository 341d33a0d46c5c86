/**
 * An ISO 8601 date or date-time in microseconds since 1970, or null where the text isn't one. A date alone is its
 * midnight, no zone is UTC, digits beyond the microsecond are cut off. The year as written is 0001 to 9999.
 */
export function instantOf(text: string): bigint | null {
  const date = '([0-9]{4})-([0-9]{2})-([0-9]{2})';
  const time = '([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\\.([0-9]{1,9}))?)?';
  const zone = '(?:Z|([+-])([0-9]{2}):?([0-9]{2}))?';
  const match = new RegExp(`^${date}(?:T${time}${zone})?$`).exec(text);
  if (match === null) return null;
  const field = (group: number): number => Number(match[group] ?? '0');
  const [year, month, day, hour, minute, second] = [field(1), field(2), field(3), field(4), field(5), field(6)];
  const [sign, zoneHour, zoneMinute] = [match[8] === '-' ? -1 : 1, field(9), field(10)];
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59) return null;

  const midnight = new Date(0);
  // Not Date.UTC, which takes the years 0 to 99 for those of the 20th century.
  midnight.setUTCFullYear(year, month - 1, day);
  const isReal = midnight.getUTCMonth() === month - 1 && midnight.getUTCDate() === day;
  if (year === 0 || !isReal) return null;

  const minutes = hour * 60 + minute - sign * (zoneHour * 60 + zoneMinute);
  const micros = (match[7] ?? '').padEnd(9, '0').slice(0, 6);
  return BigInt(midnight.getTime() + (minutes * 60 + second) * 1000) * 1000n + BigInt(micros);
}
