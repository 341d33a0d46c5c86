import { LedgerlakeError } from '../../core/errors.js';
import type { RunEvent } from '../../core/events/run-event.js';
import { DamagedFile } from '../../lake/delta/data-file.js';
import { sliceVerdict } from '../retry/read-failure.js';
import type { PipelineCounts } from './pipeline-counts.js';
import type { Pipeline } from './pipeline.js';
import type { Slice, SliceQueue } from './slice-queue.js';

/** Reads of a slice from its beginning. */
const maxReads = 3;

/** Slices left open before the first page, after which a failure ends the run. */
const mostLeftOpen = 4;

/** A slice that is too large for one chain of pages, and was put back into the queue. */
export class OversizedSlice extends LedgerlakeError {
  constructor() {
    super('STOPPED', 'it has far more results than expected');
  }
}

/** What is done about a slice that failed. */
interface SliceOutcome {
  /** As the event `slice-failed` has it; `abort`: the run ends. */
  readonly verdict: Extract<RunEvent, { readonly event: 'slice-failed' }>['verdict'] | 'abort';
  /** Whether no other slice shares the reason, so that it doesn't count as a sign that all of them fail. */
  readonly isAlone: boolean;
  /** The reason; with `abort` what the run fails with. */
  readonly error: unknown;
}

/**
 * Decides what is done about a slice that failed: what the verdict on the error says, as far as it can be done. A slice that is split
 * is in the queue again.
 *
 * @param attempt how often it was read, from 1
 */
export function outcomeOf<Upstream>(
  error: unknown,
  slice: Slice,
  attempt: number,
  pass: {
    readonly pipeline: Pipeline<Upstream>;
    readonly queue: SliceQueue;
    readonly signal: AbortSignal;
    readonly summary: PipelineCounts;
  },
): SliceOutcome {
  const { pipeline, queue, signal, summary } = pass;
  const outcome = { isAlone: false, error };
  if (error instanceof OversizedSlice) return { ...outcome, verdict: 'split' };
  if (signal.aborted) return { ...outcome, verdict: 'abort' };
  // A merged file that can't be read keeps one slice from being replaced, and no other.
  const verdict = error instanceof DamagedFile ? 'skip-alone' : sliceVerdict(pipeline, error);
  if (verdict === 'skip-alone') return { ...outcome, verdict: 'skip', isAlone: true };
  const isFruitless = summary.pages === 0 && summary.leftOpen.filter((one) => !one.isAlone).length >= mostLeftOpen;
  if (isFruitless)
    return { ...outcome, verdict: 'abort', error: fruitlessError(error, `${pipeline.name} ${slice.label}`) };
  if (verdict === 'abort' || verdict === 'skip') return { ...outcome, verdict };
  if (queue.split(slice, verdict)) return { ...outcome, verdict: verdict === 'shorten' ? verdict : 'split' };
  return { ...outcome, verdict: verdict === 'retry' && attempt < maxReads ? verdict : 'skip' };
}

/** The error of a run in which too many slices were left open before the first page for the others to succeed. */
function fruitlessError(error: unknown, place: string): unknown {
  if (!(error instanceof LedgerlakeError)) return error;
  const { code, status, details } = error;
  const message =
    `${place}: ${error.message.replace(/\.?$/, '.')} ${mostLeftOpen} others failed before it and no page arrived, so ` +
    'the run stops; run it again later';
  return new LedgerlakeError(code, message, {
    cause: error,
    ...(status !== undefined && { status }),
    ...(details !== undefined && { details }),
  });
}

/** The kind of a `ReadFailure`; null for any other error. */
export function failureKindOf(error: unknown): string | null {
  return error instanceof LedgerlakeError && 'kind' in error && typeof error.kind === 'string' ? error.kind : null;
}
