/** What tells where a row stands. */
interface Placed {
  /** Microseconds since 1970. */
  readonly at: bigint;
  readonly key: string;
}

/**
 * The last row that was delivered, by what it is and not by where it stood: its instant, its content, and how many of equal
 * ones. So commits between two pages neither repeat nor lose a row that stays, wherever it stands by then.
 */
export interface Place extends Placed {
  /** How many rows with the same instant and key were delivered, this one included. */
  readonly copies: number;
}

export function placeText({ at, key, copies }: Place): string {
  return JSON.stringify([String(at), key, copies]);
}

/** Reads what `placeText` wrote: tokens are signed, so nothing else comes back. */
export function readPlace(text: string): Place {
  const [at, key, copies] = JSON.parse(text) as [string, string, number];
  return { at: BigInt(at), key, copies };
}

/** The place of the last one of rows that follow each other behind `before`. */
export function placeOfLast(rows: readonly Placed[], before: Place | undefined): Place | undefined {
  const last = rows.at(-1);
  if (last === undefined) return before;
  const first = rows.findLastIndex((row) => !isEqual(row, last)) + 1;
  const carried = first === 0 && before !== undefined && isEqual(before, last) ? before.copies : 0;
  return { at: last.at, key: last.key, copies: rows.length - first + carried };
}

/** Rows from a place's instant and key on, without those that were delivered. */
export function rowsBehind<T extends Placed>(rows: readonly T[], place: Place | undefined): readonly T[] {
  if (place === undefined) return rows;
  let delivered = 0;
  while (delivered < place.copies) {
    const row = rows[delivered];
    if (row === undefined || !isEqual(row, place)) break;
    delivered++;
  }
  return rows.slice(delivered);
}

function isEqual(one: Placed, other: Placed): boolean {
  return one.at === other.at && one.key === other.key;
}
