import type { Hole, Tape } from '../../../core/json/tape.js';
import type { PageHole } from '../../../engine/run/slice-holes.js';

/** A hole of a line for people: `AdjustmentEventList, bytes 120 to 310`. */
export function holeText({ list, start, end }: Hole): string {
  return `${list}, bytes ${start} to ${end}`;
}

/** The holes of an answer, with the id of its request from its headers. */
export function holesOf(tape: Tape, headers?: ReadonlyMap<string, string>): readonly PageHole[] {
  const requestId = headers?.get('x-amzn-requestid');
  return (tape.repairs?.holes ?? []).map((hole) => ({ ...hole, ...(requestId !== undefined && { requestId }) }));
}
