import type { RunEvent, Emit } from '../../core/events/run-event.js';
import type { Tabled } from '../../lake/files/families.js';
import type { Lake } from '../../lake/lake.js';
import { lakeCoveredTo } from './freshness.js';
import { isoInstant } from '../../core/numeric/instant.js';

/**
 * Tells beside everything else how far the lake reaches: of each pipeline with dates right away, and of one whenever a
 * commit has moved it.
 *
 * @param end up to which the run loads, milliseconds since 1970
 */
export function emittingReach(lake: Lake, account: string, windowed: readonly Tabled[], end: number, emit: Emit): Emit {
  const emitted = new Map<string, number>();
  const emitReachOf = (of: Tabled): void => {
    const { name: pipeline } = of;
    const until = lakeCoveredTo(lake, account, [of], new Map(), end);
    if (until === undefined || until === emitted.get(pipeline)) return;
    emitted.set(pipeline, until);
    emit({ event: 'lake-reaches', pipeline, until: isoInstant(until) });
  };
  windowed.forEach(emitReachOf);
  return (event: RunEvent) => {
    emit(event);
    if (event.event !== 'slice-committed') return;
    const of = windowed.find(({ name }) => name === event.pipeline);
    if (of !== undefined) emitReachOf(of);
  };
}
