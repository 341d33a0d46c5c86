import { handled, type Handlers } from '../../core/events/handlers.js';
import type { Emit } from '../../core/events/run-event.js';

/** What a turn has done so far, out of what its run tells. */
export interface TurnCounts {
  slices: number;
  pages: number;
  requests: number;
  throttled: number;
  /** What each pipeline has not begun yet, as it told last. */
  readonly left: Record<string, string>;
}

/** Counts what a run tells; `committed` is told of each slice that is in the lake. */
export function meterTurn(committed: () => void): { readonly counts: TurnCounts; readonly emit: Emit } {
  const counts: TurnCounts = { slices: 0, pages: 0, requests: 0, throttled: 0, left: {} };
  const counted: Handlers<void> = {
    'pipeline-planned': ({ pipeline, left }) => {
      counts.left[pipeline] = left;
    },
    'slice-committed': ({ pipeline, left }) => {
      counts.slices++;
      counts.left[pipeline] = left;
      committed();
    },
    'page-read': () => {
      counts.pages++;
    },
    'request-sent': () => {
      counts.requests++;
    },
    'request-failed': ({ cause }) => {
      if (cause === 'throttled') counts.throttled++;
    },
  };
  return {
    counts,
    emit: (event) => {
      handled(counted, event);
    },
  };
}
