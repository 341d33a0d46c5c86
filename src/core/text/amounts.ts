/** `1,234`, or with a noun `1 slice`, `1,234 slices`. */
export function formatCount(count: number, noun?: string): string {
  const digits = count.toLocaleString('en-US');
  if (noun === undefined) return digits;
  return `${digits} ${noun}${count === 1 ? '' : 's'}`;
}

const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** `12.3 MB`: bytes by powers of 1,000. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit] ?? ''}`;
}

const spans = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

/** `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`: milliseconds in the two largest units; negative spans are 0 s. */
export function formatSpan(ms: number): string {
  const rounded = (grain: number) => Math.max(0, Math.round(ms / 1000 / grain)) * grain;
  // Longer spans are rounded to minutes or hours.
  let seconds = rounded(1);
  if (seconds >= 3600) seconds = rounded(60);
  if (seconds >= 86_400) seconds = rounded(3600);
  const parts: string[] = [];
  for (const [unit, size] of spans) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  if (seconds > 0 || parts.length === 0) parts.push(`${seconds} s`);
  return parts.slice(0, 2).join(' ');
}
