import { limits, operations, type Operation, type OperationName } from './operations.js';
import type { RequestParameters } from './request-path.js';

/** The service's `Date` is cut to the second, and its clock may be read a little before ours. */
const clockGrainMs = 2000;

/** Milliseconds until the request's date bounds are old enough (section 4, limits); `now` is by the service's clock. */
export function untilBoundsAreFine(name: OperationName, parameters: RequestParameters, now: number): number {
  const { range }: Operation = operations[name];
  const bounds = [range?.after, range?.before].map((bound) => (bound === undefined ? undefined : parameters[bound]));
  const latest = Math.max(...bounds.map((bound) => (typeof bound === 'number' ? bound : -Infinity)));
  return Math.max(0, latest + limits.marginMs + clockGrainMs - now);
}
