/** A thing to be merged, of a size in bytes. */
export interface Sized {
  readonly bytes: number;
}

/**
 * Which of these are to be merged, each list into one: neighbours that are less than half as large as what is aimed at,
 * up to that size together. Where nothing comes out, at most one is that small: that is what `compact` leaves alone.
 */
export function planMerges<T extends Sized>(things: readonly T[], targetBytes: number): T[][] {
  const merges: T[][] = [];
  let open: T[] = [];
  let openBytes = 0;
  for (const thing of things) {
    if (thing.bytes * 2 >= targetBytes) continue;
    if (openBytes + thing.bytes > targetBytes) {
      merges.push(open);
      open = [];
      openBytes = 0;
    }
    open.push(thing);
    openBytes += thing.bytes;
  }
  merges.push(open);
  return merges.filter((merge) => merge.length > 1);
}
