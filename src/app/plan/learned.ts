import type { GroupSpan } from '../../sources/finances/api-v0/collectors.js';
import type { Sample } from '../../engine/run/density.js';
import type { Window } from '../../core/windows.js';

/** What was asked of the service for a plan's sake. */
export interface Learned {
  readonly requests: number;
  /** What events by date were found to be. */
  readonly events: readonly Sample[];
  /** Settlements that were listed, and of which time. */
  readonly groups: readonly GroupSpan[];
  readonly listed: Window | undefined;
  /** Seconds from a request to its whole answer, by pipeline. */
  readonly latencies: ReadonlyMap<string, number>;
}

/** Nothing was asked. */
export const nothingLearned: Learned = {
  requests: 0,
  events: [],
  groups: [],
  listed: undefined,
  latencies: new Map(),
};

/** What is taken for it while nobody has waited for an answer. */
const usualLatency = 0.5;

/** Seconds that an answer is expected to take. */
export function latencyOf({ latencies }: Learned, pipeline: string): number {
  const known = [...latencies.values()];
  const mean = known.reduce((sum, seconds) => sum + seconds, 0) / known.length;
  return latencies.get(pipeline) ?? (known.length > 0 ? mean : usualLatency);
}
