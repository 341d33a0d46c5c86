/** A thing to be merged, of a size in bytes. */
export interface Sized {
  readonly bytes: number;
  /** Bytes of those of its files that are as a slice has landed them: written again, they come out smaller. */
  readonly landedBytes: number;
}

/** What part of the size aimed at landed bytes must have to be worth being written again for their own sake. */
const leastLandedPart = 1 / 128;

/** A merge that more may be added to. */
interface OpenMerge<T> {
  things: T[];
  bytes: number;
}

/**
 * Which of these are to be merged, each list into one: neighbours that are less than half as large as what is aimed at,
 * up to that size together; then, each by itself, those that are only to be written smaller. Where nothing comes out, at
 * most one is that small, of those that may be merged with each other, and few bytes are as they were landed: that is what
 * `compact` leaves alone.
 */
export function planMerges<T extends Sized>(
  things: readonly T[],
  targetBytes: number,
  mayMerge: (one: T, other: T) => boolean = () => true,
): T[][] {
  const merges: T[][] = [];
  const open: OpenMerge<T>[] = [];
  for (const thing of things) {
    if (thing.bytes * 2 >= targetBytes) continue;
    let merge = open.find((of) => of.things.every((other) => mayMerge(other, thing)));
    if (merge === undefined) open.push((merge = { things: [], bytes: 0 }));
    if (merge.bytes + thing.bytes > targetBytes) {
      merges.push(merge.things);
      merge.things = [];
      merge.bytes = 0;
    }
    merge.things.push(thing);
    merge.bytes += thing.bytes;
  }
  merges.push(...open.map((of) => of.things));
  const found = merges.filter((merge) => merge.length > 1);
  const merged = new Set(found.flat());
  const alone = things.filter((thing) => thing.landedBytes >= targetBytes * leastLandedPart && !merged.has(thing));
  return [...found, ...alone.map((thing) => [thing])];
}
