import type { RunEvent, Emit } from '../../core/events/run-event.js';
import type { Tabled } from '../../core/columns/table.js';
import type { Lake } from '../../lake/lake.js';
import { lakeCoveredTo } from './freshness.js';
import { isoInstant } from '../../core/numeric/instant.js';

/**
 * Emits the watermark of each pipeline with dates beside everything else: at once, and whenever a commit has moved it.
 *
 * @param end up to which the run loads, milliseconds since 1970
 */
export function emittingWatermarks(
  lake: Lake,
  account: string,
  windowed: readonly Tabled[],
  end: number,
  emit: Emit,
): Emit {
  const emitted = new Map<string, number>();
  const emitWatermarkOf = (of: Tabled): void => {
    const { name: pipeline } = of;
    const until = lakeCoveredTo(lake, account, [of], new Map(), end);
    if (until === undefined || until === emitted.get(pipeline)) return;
    emitted.set(pipeline, until);
    emit({ event: 'watermark-moved', pipeline, until: isoInstant(until) });
  };
  windowed.forEach(emitWatermarkOf);
  return (event: RunEvent) => {
    emit(event);
    if (event.event !== 'slice-committed') return;
    const of = windowed.find(({ name }) => name === event.pipeline);
    if (of !== undefined) emitWatermarkOf(of);
  };
}
