import type { Hole, Tape } from '../../../core/json/tape.js';
import { countWarning, type EventWarnings } from '../model/slice-rows.js';

/** A hole for people: `AdjustmentEventList, bytes 120 to 310`. */
export function holeText({ list, start, end }: Hole): string {
  return `${list}, bytes ${start} to ${end}`;
}

/** The holes of an answer, with the id of its request from its headers. */
export function holesOf(tape: Tape, headers?: ReadonlyMap<string, string>): readonly string[] {
  const requestId = headers?.get('x-amzn-requestid') ?? 'none';
  return (tape.repairs?.holes ?? []).map((hole) => `${holeText(hole)}, request id ${requestId}`);
}

/** Counts the holes of a page, by its number. */
export function countHoles({ holes }: Pick<EventWarnings, 'holes'>, found: readonly string[] = [], page: number): void {
  for (const hole of found) countWarning(holes, `page ${page}, ${hole}`);
}
