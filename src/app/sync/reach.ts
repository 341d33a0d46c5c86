import type { RunEvent, Tell } from '../../core/events/run-event.js';
import type { Tabled } from '../../lake/files/families.js';
import type { Lake } from '../../lake/lake.js';
import { lakeCoveredTo } from './lag.js';

/**
 * Tells beside everything else how far the lake reaches: of each pipeline with dates right away, and of one whenever a
 * commit has moved it.
 *
 * @param end up to which the run loads, milliseconds since 1970
 */
export function emittingReach(lake: Lake, account: string, windowed: readonly Tabled[], end: number, tell: Tell): Tell {
  const told = new Map<string, number>();
  const tellOf = (of: Tabled): void => {
    const { name: pipeline } = of;
    const until = lakeCoveredTo(lake, account, [of], new Map(), end);
    if (until === undefined || until === told.get(pipeline)) return;
    told.set(pipeline, until);
    tell({ event: 'lake-reaches', pipeline, until: new Date(until).toISOString() });
  };
  windowed.forEach(tellOf);
  return (event: RunEvent) => {
    tell(event);
    if (event.event !== 'slice-committed') return;
    const of = windowed.find(({ name }) => name === event.pipeline);
    if (of !== undefined) tellOf(of);
  };
}
