import type { Action, Add } from '../delta/actions.js';
import { unitsOf } from '../delta/file-tags.js';
import type { Snapshot } from '../delta/snapshot.js';
import { unitId } from '../delta/load-key-ids.js';

/** What a slice makes of a unit that it takes the place of though it didn't read it. */
export interface UnitCut {
  /** What of the unit goes. */
  readonly inside: string;
  /** What of it stays; none where all of it goes. */
  readonly outside: readonly string[];
}

/** What a slice has read. */
export interface SliceUnits {
  readonly pipeline: string;
  readonly account: string;
  /** Each of them counts as loaded once the slice is committed, also where it held nothing. */
  readonly units: readonly string[];
  /** Replaces what the lake holds of the same units; otherwise what somebody else committed meanwhile stays. */
  readonly refresh: boolean;
  /** Units that count as read no longer, as these hold all that they held: a day's part within the day. */
  readonly retires?: readonly string[] | undefined;
  /** Units that can't stand beside the slice's, other than its own: windows that overlap with it. */
  readonly excludes?: ((unit: string) => boolean) | undefined;
  /**
   * What the slice takes of a unit that it finds in the lake and that gives way to whatever is read: a day that imports
   * filled. Undefined for a unit that stays as it is.
   */
  readonly cuts?: ((unit: string) => UnitCut | undefined) | undefined;
}

/** What a slice takes the place of: its own units, and those that it retires. */
export function replacedUnits({ units, retires = [] }: SliceUnits): readonly string[] {
  return [...units, ...retires];
}

/** The files that hold any of the units that a slice takes the place of. */
export function touchedFiles(snapshot: Snapshot, slice: SliceUnits): Add[] {
  return snapshot.filesWith(slice.account, slice.pipeline, replacedUnits(slice));
}

/** The units that give way to the slice (see `SliceUnits.cuts`), in whole or in part. */
export function displacedUnits(snapshot: Snapshot, { pipeline, account, cuts }: SliceUnits): string[] {
  if (cuts === undefined) return [];
  return [...snapshot.unitsOf(account, pipeline).keys()].filter((unit) => cuts(unit) !== undefined);
}

/** The files that hold anything that goes when the slice comes. */
export function goingFiles(snapshot: Snapshot, slice: SliceUnits): Add[] {
  const going = [...replacedUnits(slice), ...displacedUnits(snapshot, slice)];
  return snapshot.filesWith(slice.account, slice.pipeline, going);
}

/** Those of them that hold something that stays as well. */
export function mixedFiles(snapshot: Snapshot, slice: SliceUnits): Add[] {
  const wanted = new Set(replacedUnits(slice));
  const stays = (unit: string) => {
    const cut = slice.cuts?.(unit);
    return cut === undefined ? !wanted.has(unit) : cut.outside.length > 0;
  };
  return goingFiles(snapshot, slice).filter((add) => unitsOf(add).some(stays));
}

/** Whether another run has read what the slice reads, or what can't stand beside it. */
export function standsInTheWay(
  snapshot: Snapshot,
  { pipeline, account, units, refresh, excludes, retires = [] }: SliceUnits,
): boolean {
  if (!refresh && units.some((unit) => timesRead(snapshot, pipeline, account, unit) > 0)) return true;
  if (excludes === undefined) return false;
  const read = [...snapshot.unitsOf(account, pipeline).keys()];
  return read.some((unit) => excludes(unit) && !retires.includes(unit));
}

/** How often a unit was read; 0 where it doesn't count as read, or no longer. */
function timesRead(snapshot: Snapshot, pipeline: string, account: string, unit: string): number {
  return Math.max(0, unitVersion(snapshot, pipeline, account, unit));
}

/** How often a unit was read, below 0 where it counts as read no longer: each commit of the unit has another one. */
export function unitVersion({ txns }: Snapshot, pipeline: string, account: string, unit: string): number {
  return txns.get(unitId(pipeline, account, unit))?.version ?? 0;
}

/** The transactions that say that the slice's units are read, and those that it retires no longer. */
export function txns(snapshot: Snapshot, slice: SliceUnits, now: number): Action[] {
  const version = (appId: string) => snapshot.txns.get(appId)?.version ?? 0;
  const id = (unit: string) => unitId(slice.pipeline, slice.account, unit);
  const read = slice.units.map(id).map((appId) => ({ appId, version: Math.abs(version(appId)) + 1 }));
  const retired = [...(slice.retires ?? []), ...displacedUnits(snapshot, slice)]
    .map(id)
    .filter((appId) => version(appId) > 0)
    .map((appId) => ({ appId, version: -version(appId) }));
  return [...read, ...retired].map((txn) => ({ txn: { ...txn, lastUpdated: now } }));
}

/** The files that a pipeline wrote for an account. */
export function filesOf(snapshot: Snapshot, pipeline: string, account: string): Add[] {
  return [...snapshot.filesOf(account)].filter(({ tags }) => tags?.['pipeline'] === pipeline);
}
