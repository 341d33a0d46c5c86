import type { RunEvent, Tell } from '../../core/events/run-event.js';
import type { Lake } from '../../lake/lake.js';
import { lakeCoveredTo } from './lag.js';
import type { Windowed } from './synced-pipelines.js';

/**
 * Tells beside everything else how far the lake reaches: of each pipeline with dates right away, and of one whenever a
 * commit has moved it.
 *
 * @param end up to which the run loads, milliseconds since 1970
 */
export function tellingReach(
  lake: Lake,
  account: string,
  windowed: readonly Windowed[],
  end: number,
  tell: Tell,
): Tell {
  const told = new Map<string, number>();
  const tellOf = (of: Windowed): void => {
    const { pipeline } = of;
    const until = lakeCoveredTo(lake, account, [of], new Map(), end);
    if (until === undefined || until === told.get(pipeline)) return;
    told.set(pipeline, until);
    tell({ event: 'lake-reaches', pipeline, until: new Date(until).toISOString() });
  };
  windowed.forEach(tellOf);
  return (event: RunEvent) => {
    tell(event);
    if (event.event !== 'slice-committed') return;
    const of = windowed.find(({ pipeline }) => pipeline === event.pipeline);
    if (of !== undefined) tellOf(of);
  };
}
