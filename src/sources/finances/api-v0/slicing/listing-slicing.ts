import type { Lake } from '../../../../lake/lake';
import type { Job, Warnings } from '../../../../engine/run/pipeline';
import { loadedWindows, windowSlice, type WindowSlice } from '../../../../engine/run/window-slices';
import { dayMs, type Window } from '../../../../core/windows';
import type { Work } from '../../../../engine/run/work';
import { listedGroups } from '../group-slices';
import { holeText, settlementBreaks, type SettlementBreaks, type SettlementHole } from '../settlement-holes';
import { groups } from '../../model/tables';

/** A window of the list of settlements. */
export interface ListingSlice extends WindowSlice {
  /** The settlements of the window that the lake holds, as a page's body: what comes is put to them. */
  readonly held?: () => Promise<Uint8Array>;
}

/** Times that a window in which settlements seem to be missing is listed: where it was read in this run, else. */
const mostRounds = { read: 3, held: 1 };

/** The same for windows of this run in which one more may have opened before the first settlement of all. */
const mostFirstRounds = 1;

/** Days before the end of a run's range in which a hole is looked at again, wherever the range begins. */
const awaitedDays = 60;

/** The holes in the list of settlements that are a run's matter: those of its range, and new ones. */
function breaksOf({ lake, account, range }: Job, listing: string, windows: readonly Window[]): SettlementBreaks {
  const from = Math.min(range.start, range.end - awaitedDays * dayMs);
  const spans = listedGroups(lake, listing, account).map(({ group }) => group);
  const { holes, beginnings } = settlementBreaks(spans, windows);
  const isTheirs = ({ at }: SettlementHole) => at >= from;
  return { holes: holes.filter(isTheirs), beginnings: beginnings.filter(isTheirs) };
}

function listedWindows({ lake, account }: Job, listing: string): readonly Window[] {
  return loadedWindows(lake, listing, groups.name, account);
}

/**
 * The work of listing settlements: once all is read, the windows in which some seem to be missing are read again, a few
 * times as long as they do, for the service is known to leave settlements out of a listing, other ones each time. A run that
 * has nothing to read does nothing of this.
 */
export function listingWork(work: Work<WindowSlice>, job: Job, listing: string): Work<ListingSlice> {
  const { lake, account } = job;
  const read = new Set<string>();
  const rounds = new Map<string, number>();
  return {
    ...work,
    get left() {
      return work.left;
    },
    next: (pages) => {
      const slice = work.next(pages);
      if (slice !== undefined) read.add(slice.name);
      return slice;
    },
    again: () => {
      if (read.size === 0) return [];
      const windows = listedWindows(job, listing);
      const { holes, beginnings } = breaksOf(job, listing, windows);
      const isIn = ({ start, end }: Window, some: readonly SettlementHole[]) =>
        some.some(({ at }) => at >= start && at < end);
      const mostOf = (window: Window, { name }: WindowSlice): number => {
        if (isIn(window, holes)) return read.has(name) ? mostRounds.read : mostRounds.held;
        return read.has(name) && isIn(window, beginnings) ? mostFirstRounds : 0;
      };
      return windows
        .map((window) => ({ window, slice: windowSlice(window) }))
        .filter(({ window, slice }) => (rounds.get(slice.name) ?? 0) < mostOf(window, slice))
        .map(({ slice }): ListingSlice => {
          rounds.set(slice.name, (rounds.get(slice.name) ?? 0) + 1);
          return { ...slice, again: true, held: () => heldListing(lake, account, listing, slice) };
        });
    },
  };
}

/** The settlements that seem to be missing still, by where. */
export function listingWarnings(job: Job, listing: string): Warnings {
  const { holes } = breaksOf(job, listing, listedWindows(job, listing));
  return { missingSettlements: new Map(holes.map((hole) => [holeText(hole), 1])) };
}

async function heldListing(lake: Lake, account: string, listing: string, slice: WindowSlice): Promise<Uint8Array> {
  // Only now: most runs find no hole, and need no DuckDB.
  const { heldRaws } = await import('../../../../lake/files/held-raws');
  const { snapshot } = lake.table(groups.name);
  const adds = snapshot.filesWith(account, listing, slice.units);
  const raws = adds.length === 0 ? [] : await heldRaws(lake, groups, adds, slice.units);
  return Buffer.from(`{"payload":{"FinancialEventGroupList":[${raws.join(',')}]}}`);
}
