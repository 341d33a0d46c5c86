/** Below 0, 0 or above 0 as `a` is less than, equal to or greater than `b`; texts by UTF-16 code units. */
export function compare<T extends bigint | number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
