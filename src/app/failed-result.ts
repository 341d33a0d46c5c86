import type { Emit } from '../core/events/run-event.js';
import { isoInstant } from '../core/numeric/instant.js';
import type { RunContext } from './context.js';

/** What is known of a run before it has read anything; null: not known. */
interface KnownRun {
  readonly account: string;
  readonly lake: string;
  readonly from: number | null;
  readonly to: number | null;
}

/**
 * Sets the result of a run that starts now, if it fails before it has read anything. Returns the context for the run: its events
 * tell the run's id.
 *
 * @param more members that are known later
 */
export function withFailedResult(
  context: RunContext,
  { account, lake, from, to }: KnownRun,
  more: () => Readonly<Record<string, unknown>> = () => ({}),
): RunContext {
  const { clock, setFailedResult } = context;
  const began = clock.now();
  const instantText = (instant: number | null) => (instant === null ? null : isoInstant(instant));
  let run: string | null = null;
  setFailedResult?.(() => ({
    summary: {
      account,
      run,
      lake,
      from: instantText(from),
      to: instantText(to),
      seconds: (clock.now() - began) / 1000,
      pipelines: {},
      catalog: null,
      ...more(),
    },
  }));
  const emit: Emit = (event) => {
    if (event.event === 'run-started') ({ run } = event);
    context.emit(event);
  };
  return { ...context, emit };
}
