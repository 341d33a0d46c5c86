import type { RunContext } from '../app/context.js';
import { systemClock } from '../core/clock.js';
import { LedgerlakeError } from '../core/errors.js';
import { withStoppingEvent } from '../core/events/run-event.js';
import { accountKinds, checkOptions, textOf, type AccountOptions, type OptionKinds } from './options.js';
import type { RunSummary, SyncSummary } from './results.js';
import { runTask } from './task.js';

/** What {@link backfill} and {@link sync} have in common. Each option is that of the command, by its name there. */
export interface RunOptions extends AccountOptions {
  /** Pipelines by name; default those of `api`. */
  readonly pipelines?: readonly string[] | undefined;
  /** The lake: a folder, or `s3://BUCKET/PREFIX`; default `data/lake`. */
  readonly lake?: string | undefined;
  /** Whose pipelines run where none is named; default `v0`. */
  readonly api?: 'v0' | '2024-06-19' | 'both' | undefined;
  /** Order ids, for `order-events` and `order-transactions`. */
  readonly orders?: readonly string[] | undefined;
  /** Accepts that slices which held rows come back empty. */
  readonly acceptEmpty?: boolean | undefined;
  /** Folder for pages of unfinished slices; default `LAKE/_journal`, on S3 the user's cache. */
  readonly journal?: string | undefined;
  /** Folder with definitions of custom pipelines: `--pipelines` of the command line. */
  readonly pipelineFolder?: string | undefined;
  /** How many hours files stay that the run replaces; default: as the lake has it. */
  readonly retentionHours?: number | undefined;
  /** What the run writes for other engines at its end; default: what is set. */
  readonly export?: readonly ('iceberg' | 'symlinks')[] | undefined;
  /**
   * Stops the run as Ctrl-C does: what was committed stays, the next run goes on from there, and the promise is rejected with
   * STOPPED.
   */
  readonly signal?: AbortSignal | undefined;
}

/** What {@link backfill} takes. */
export interface BackfillOptions extends RunOptions {
  /** First instant, ISO 8601 in UTC; default 90 days before `to`. */
  readonly from?: string | Date | undefined;
  /** End, exclusive; default now, less five minutes. */
  readonly to?: string | Date | undefined;
  /** Reads again what the lake holds already, and replaces it. */
  readonly refresh?: boolean | undefined;
}

/** What {@link sync} takes. */
export interface SyncOptions extends RunOptions {
  /** Reads this many days again, whatever the schedule says. */
  readonly lookBack?: number | undefined;
  /** Rejects with LAKE_LAG where the lake is older than this after the run: `90m`, `2h`, `1d`. */
  readonly maxLag?: string | undefined;
}

const runKinds: OptionKinds<RunOptions> = {
  ...accountKinds,
  pipelines: 'texts',
  lake: 'text',
  api: 'text',
  orders: 'texts',
  acceptEmpty: 'flag',
  journal: 'text',
  pipelineFolder: 'text',
  retentionHours: 'number',
  export: 'texts',
  signal: 'signal',
};
const backfillKinds: OptionKinds<BackfillOptions> = { ...runKinds, from: 'instant', to: 'instant', refresh: 'flag' };
const syncKinds: OptionKinds<SyncOptions> = { ...runKinds, lookBack: 'number', maxLag: 'text' };

/**
 * Why a run ended before it was done, and what it had done by then. `cause` is the failure itself, of STOPPED the reason of
 * the signal.
 */
export class RunError extends LedgerlakeError {
  /** What was committed, which stays: the object that `--json` prints. */
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
    this.summary = { ...summary, error: { code, message } };
  }
}

/**
 * Loads what the lake lacks of a date range, as `ledgerlake backfill` does. Nothing is printed.
 *
 * @throws LedgerlakeError USAGE for what is wrong in the options, the environment or the configuration, before anything is
 * touched; {@link RunError} with the code of the failure that ended the run; what `onEvent` throws
 */
export async function backfill(options: BackfillOptions = {}): Promise<RunSummary> {
  checkOptions('backfill', options, backfillKinds);
  const [{ readOptions }, { backfill: load }] = await Promise.all([
    import('./read-options.js'),
    import('../app/load/backfill.js'),
  ]);
  const settings = await readOptions(options);
  const { refresh = false } = options;
  const to = textOf(options.to);
  return summaryOf(options, (context) => load({ ...settings, ...jobOf(options), to, refresh }, context));
}

/**
 * Loads what is new, and reads again what may have changed, as `ledgerlake sync` does. Nothing is printed.
 *
 * @throws as {@link backfill}
 */
export async function sync(options: SyncOptions = {}): Promise<SyncSummary> {
  checkOptions('sync', options, syncKinds);
  const [{ readOptions }, { sync: load }, { wholeNumber }] = await Promise.all([
    import('./read-options.js'),
    import('../app/load/sync.js'),
    import('../app/configuration/settings.js'),
  ]);
  const settings = await readOptions(options);
  const { maxLag, lookBack: days } = options;
  const lookBack = days === undefined ? undefined : wholeNumber('--look-back', String(days), 0);
  const rules = settings.lookBack;
  return summaryOf<SyncSummary>(options, (context) =>
    load({ ...settings, ...jobOf(options), rules, lookBack, maxLag }, context),
  );
}

/** What of the options is no setting. */
function jobOf({ pipelines = [], orders, acceptEmpty = false }: RunOptions) {
  // As the file of `--orders`, whose errors name the line.
  return { pipelines, orders: orders && { text: orders.join('\n'), source: 'the option orders' }, acceptEmpty };
}

/** Runs to the end, and gives what `--json` prints. */
function summaryOf<Summary extends RunSummary>(
  { signal: given, onEvent }: RunOptions,
  run: (context: RunContext) => Promise<void>,
): Promise<Summary> {
  const advice = '; what was committed stays, and the same call continues from there';
  return runTask({ signal: given, onEvent, advice }, async ({ signal, emit }) => {
    const printed: Summary[] = [];
    const printJson = (summary: object): void => {
      printed.push(summary as Summary);
    };
    const context = {
      clock: systemClock,
      signal,
      emit: withStoppingEvent(emit, signal),
      print: () => undefined,
      printJson,
    };
    try {
      await run(context);
    } catch (error) {
      if (error instanceof LedgerlakeError && printed[0] !== undefined) throw new RunError(error, printed[0]);
      throw error;
    }
    if (printed[0] === undefined) throw new Error('a run has ended without a summary');
    return printed[0];
  });
}
