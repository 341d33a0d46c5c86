/** A thing to be merged, of a size in bytes. */
export interface Sized {
  readonly bytes: number;
  /** Bytes of those of its files that are as a slice has landed them: written again, they come out smaller. */
  readonly landedBytes: number;
}

/** What part of the size aimed at landed bytes must have to be worth being written again for their own sake. */
const leastLandedPart = 1 / 128;

/**
 * Which of these are to be merged, each list into one: neighbours that are less than half as large as what is aimed at,
 * up to that size together; then, each by itself, those that are only to be written smaller. Where nothing comes out, at
 * most one is that small and few bytes are as they were landed: that is what `compact` leaves alone.
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
  const found = merges.filter((merge) => merge.length > 1);
  const merged = new Set(found.flat());
  const alone = things.filter((thing) => thing.landedBytes >= targetBytes * leastLandedPart && !merged.has(thing));
  return [...found, ...alone.map((thing) => [thing])];
}
