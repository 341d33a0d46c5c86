import { CommandError, failedSummary, failureOf, type CommandResult } from '../app/command-result.js';
import { withStoppingEvent, type RunContext } from '../app/context.js';
import { LedgerlakeError } from '../core/errors.js';
import {
  backfillKinds,
  checkOptions,
  syncKinds,
  optionText,
  type BackfillOptions,
  type RunOptions,
  type SyncOptions,
} from './options.js';
import type { RunSummary, SyncSummary } from '../app/results.js';
import { namingOptions, runTask } from './task.js';

/** The failure of a run, with the summary of what it had committed. `cause`: the failure; for STOPPED the signal's reason. */
export class RunError extends LedgerlakeError {
  /** The object that `--json` prints. */
  readonly summary: RunSummary;

  /** @internal */
  constructor(failure: LedgerlakeError, summary: RunSummary) {
    const { code, message, status, details } = failure;
    super(code, message, {
      cause: code === 'STOPPED' ? failure.cause : failure,
      ...(status !== undefined && { status }),
      ...(details !== undefined && { details }),
    });
    this.name = 'RunError';
    this.summary = failedSummary(summary, { code, message });
  }
}

/**
 * Loads the parts of a date range that are not loaded yet, as `ledgerlake backfill` does. Prints nothing.
 *
 * @throws LedgerlakeError USAGE for invalid options, environment variables or configuration, before the run starts;
 * {@link RunError} for a run that fails; any error of `onEvent`
 */
export async function backfill(options: BackfillOptions = {}): Promise<RunSummary> {
  checkOptions('backfill', options, backfillKinds);
  const [{ readLoad }, { backfill: load }] = await Promise.all([
    import('./read-options.js'),
    import('../app/load/backfill.js'),
  ]);
  const given = await namingOptions(() => readLoad('backfill', options));
  const to = optionText(options.to);
  return summaryOf(options, (context) => load({ ...given, to }, context));
}

/**
 * Loads what is new, and reads again what may have changed, as `ledgerlake sync` does. Prints nothing.
 *
 * @throws as {@link backfill}
 */
export async function sync(options: SyncOptions = {}): Promise<SyncSummary> {
  checkOptions('sync', options, syncKinds);
  const [{ readLoad }, { sync: load }] = await Promise.all([
    import('./read-options.js'),
    import('../app/load/sync.js'),
  ]);
  const given = await namingOptions(() => readLoad('sync', options));
  return summaryOf<SyncSummary>(options, (context) => load(given, context));
}

/** Completes a run, and returns the object that `--json` prints. */
function summaryOf<Summary extends RunSummary>(
  { signal: given, onEvent }: RunOptions,
  run: (context: RunContext) => Promise<CommandResult<Summary>>,
): Promise<Summary> {
  const advice = '; what was committed stays, and the same call continues from there';
  return runTask({ signal: given, onEvent, advice }, async (context) => {
    try {
      const { emit, signal } = context;
      const { summary } = await run({ ...context, emit: withStoppingEvent(emit, signal) });
      return summary;
    } catch (error) {
      const failure = failureOf(error);
      const hasBegun = error instanceof CommandError && error.text !== undefined;
      // An error of the program itself has no code.
      if (!hasBegun || !(failure instanceof LedgerlakeError)) throw failure;
      throw new RunError(failure, error.summary as RunSummary);
    }
  });
}
