import type { Action, Add } from './actions.js';
import type { Snapshot } from './delta-table.js';
import { unitsOf } from './file-tags.js';

/** What a slice has read. */
export interface SliceUnits {
  readonly pipeline: string;
  readonly account: string;
  /** Each of them counts as loaded once the slice is committed, also where it held nothing. */
  readonly units: readonly string[];
  /** Replaces what the lake holds of the same units; otherwise what somebody else committed meanwhile stays. */
  readonly refresh: boolean;
  /** Units that can't stand beside the slice's, other than its own: windows that overlap with it. */
  readonly excludes?: ((unit: string) => boolean) | undefined;
}

/** The files that hold any of a slice's units. */
export function touchedFiles(snapshot: Snapshot, { pipeline, account, units }: SliceUnits): Add[] {
  const wanted = new Set(units);
  return filesOf(snapshot, pipeline, account).filter((add) => unitsOf(add).some((unit) => wanted.has(unit)));
}

/** Those of them that hold others as well. */
export function mixedFiles(snapshot: Snapshot, slice: SliceUnits): Add[] {
  const wanted = new Set(slice.units);
  return touchedFiles(snapshot, slice).filter((add) => unitsOf(add).some((unit) => !wanted.has(unit)));
}

/** Whether another run has read what the slice reads, or what can't stand beside it. */
export function standsInTheWay(
  snapshot: Snapshot,
  { pipeline, account, units, refresh, excludes }: SliceUnits,
): boolean {
  if (!refresh && units.some((unit) => snapshot.txns.has(unitId(pipeline, account, unit)))) return true;
  if (excludes === undefined) return false;
  return [...snapshot.txns.keys()].some((id) => {
    const read = readUnit(id);
    return read?.pipeline === pipeline && read.account === account && excludes(read.unit);
  });
}

/** The transactions that say that the slice's units are read. */
export function txns(snapshot: Snapshot, slice: SliceUnits, now: number): Action[] {
  return slice.units.map((unit) => {
    const appId = unitId(slice.pipeline, slice.account, unit);
    return { txn: { appId, version: (snapshot.txns.get(appId)?.version ?? 0) + 1, lastUpdated: now } };
  });
}

/** The files that a pipeline wrote for an account. */
export function filesOf(snapshot: Snapshot, pipeline: string, account: string): Add[] {
  return [...snapshot.files.values()].filter(
    ({ tags }) => tags?.['pipeline'] === pipeline && tags['account'] === account,
  );
}

const unitPrefix = 'ledgerlake';

function unitId(pipeline: string, account: string, unit: string): string {
  return [unitPrefix, pipeline, account, unit].join('/');
}

/** What a transaction of the log stands for; undefined for another program's. */
export function readUnit(id: string): { pipeline: string; account: string; unit: string } | undefined {
  const [prefix, pipeline = '', account = '', ...unit] = id.split('/');
  return prefix === unitPrefix ? { pipeline, account, unit: unit.join('/') } : undefined;
}
