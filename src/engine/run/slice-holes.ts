import type { TextHole } from '../../core/json/tape.js';
import { LedgerlakeError } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import type { LoadHole } from '../../lake/catalog/load-key.js';

/** A page of which parts may be left out. */
export interface PageWithHoles {
  /** What could not be read of it. */
  readonly holes?: readonly TextHole[];
  /** The id that the API gave the request. */
  readonly requestId?: string | undefined;
}

/** An event of a slice that couldn't be read, and is left out; or the whole slice. */
export interface SliceHole {
  /** The load key that keeps it; undefined for the only one of the slice. */
  readonly loadKey: string | undefined;
  readonly hole: LoadHole;
  /** For people, behind the slice: `page 1, AdjustmentEventList, bytes 120 to 310, request id …`. */
  readonly place: string;
}

/**
 * The holes of one page of a slice.
 *
 * @param page its number, from 0, among the pages of the load key
 */
export function sliceHoles({ holes = [], requestId }: PageWithHoles, page: number, loadKey?: string): SliceHole[] {
  return holes.map((hole) => ({
    loadKey,
    hole: { page, byte: hole.start, ...(requestId !== undefined && { requestId }) },
    place: `page ${page + 1}, ${pageHoleText(hole, requestId)}`,
  }));
}

/** A hole of a page for people: `AdjustmentEventList, bytes 120 to 310, request id …`. */
export function pageHoleText({ list, start, end }: TextHole, requestId = 'none'): string {
  return `${list}, bytes ${start} to ${end}, request id ${requestId}`;
}

/** The hole of a slice that the API refuses to return, by the failure; undefined for any other one. */
export function refusalHole(error: unknown): SliceHole | undefined {
  if (!(error instanceof LedgerlakeError) || !('refusedAfter' in error)) return undefined;
  const { refusedAfter, message } = error;
  return typeof refusedAfter === 'number' ? { loadKey: undefined, hole: { refusedAfter }, place: message } : undefined;
}

/** The holes of a slice by its load keys. */
export function holesByKey(
  holes: readonly SliceHole[],
  [first = '']: readonly string[],
): ReadonlyMap<string, readonly LoadHole[]> {
  const kept = groupBy(holes, ({ loadKey = first }) => loadKey);
  return new Map([...kept].map(([loadKey, list]) => [loadKey, list.map(({ hole }) => hole)]));
}
