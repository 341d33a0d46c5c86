/** Adds to the count of a key, which is 0 before. */
export function count<Key>(counts: Map<Key, number>, key: Key, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}
