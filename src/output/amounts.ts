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
