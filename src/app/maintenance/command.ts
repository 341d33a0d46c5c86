import { CommandError, underLease, withKnown, type CommandResult } from '../command-result.js';
import { emitDamage, type RunContext } from '../context.js';
import type { LedgerlakeError } from '../../core/errors.js';
import { catalogVersion } from '../catalog-version.js';
import type { CatalogVersion } from '../results.js';
import { exportAfterRun, type AfterRunExport } from '../export/export-after-run.js';
import { printable } from '../../core/printable.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { alignedLines } from '../../core/text/width.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { unknownPipeline } from '../configuration/chosen-pipelines.js';
import { refuseUnknownAccount } from '../configuration/account.js';
import type { OptionalSettings } from '../configuration/settings.js';
import { countsOf } from '../row-counts.js';
import { existingLake, type LakeAddress } from '../../lake/existing-lake.js';
import type { Lake } from '../../lake/lake.js';
import { acquireLease, emitOtherRuns, type RunLease } from '../../lake/leases.js';
import { vacuumLake } from '../../lake/upkeep/vacuum.js';
import { customPipelinesOf, type PipelineTables } from '../../core/columns/table.js';
import type { Limits } from '../../lake/files/workspace.js';

/** The options that `compact` and `rebuild` share. */
export interface MaintenanceOptions extends AfterRunExport, LakeAddress, OptionalSettings<'retentionHours'> {
  /** Names of pipelines; empty: all. */
  readonly pipelines: readonly string[];
  /** Undefined: every account of the lake. */
  readonly account: string | undefined;
  /** The configuration file, for printed commands; undefined: they don't name it. */
  readonly config?: string | undefined;
  /** Memory limits; left out: the command's. */
  readonly limits?: Limits;
}

/** The lake, the pipelines and the limits of a run of `compact` or `rebuild`. */
export interface MaintenanceRun extends Pick<RunContext, 'clock' | 'signal' | 'emit'> {
  readonly lake: Lake;
  readonly pipelines: readonly PipelineTables[];
  readonly account: string | undefined;
  readonly limits: Limits;
  /** Adds a pipeline to the summary, which the command has also where it fails. */
  readonly summarize: (pipeline: PipelineTables) => RewriteSummary;
}

/** The counts of one pipeline's tables. */
export interface RewriteSummary {
  readonly pipeline: string;
  /** Merges, or files of the main table that were re-derived. */
  slices: number;
  /** Processed rows, by table. */
  readonly rows: Map<string, number>;
  files: number;
  bytes: number;
  replacedFiles: number;
  replacedBytes: number;
  seconds: number;
}

/** How `compact` and `rebuild` differ. */
interface MaintenanceCommand {
  readonly command: string;
  /** The pipelines whose tables it can change. */
  readonly pipelines: readonly PipelineTables[];
  readonly limits: Limits;
  /** The verb of the summary: `Compacted`. */
  readonly title: string;
  /** The text where no file was written. */
  readonly nothing: (summaries: readonly RewriteSummary[]) => string;
  /** The heading of the number of slices. */
  readonly slices: string;
  /** Called once the lake is open, to start what takes long to start. */
  readonly opened?: (run: Pick<MaintenanceRun, 'lake' | 'pipelines' | 'account'>) => void;
  readonly run: (run: MaintenanceRun) => Promise<void>;
}

/**
 * Opens the lake for a change of its files, vacuums it, runs the command, and vacuums it again. An empty lake is not changed.
 *
 * @throws LedgerlakeError USAGE for an unknown pipeline or account and where there is no lake; what the command throws
 */
export function maintain(
  options: MaintenanceOptions,
  context: RunContext,
  command: MaintenanceCommand,
): Promise<CommandResult> {
  const { clock } = context;
  const began = clock.now();
  const secondsSince = (): number => (clock.now() - began) / 1000;
  const known = () => ({ lake: options.lake, seconds: secondsSince(), pipelines: {}, catalog: null });
  return withKnown(maintainLake(options, context, command, secondsSince), known);
}

async function maintainLake(
  options: MaintenanceOptions,
  context: RunContext,
  command: MaintenanceCommand,
  secondsSince: () => number,
): Promise<CommandResult> {
  const { clock, emit, signal } = context;
  const { account } = options;
  const lake = await existingLake(options, tables, context);
  const accounts = lake.snapshot.accounts();
  const known = [...command.pipelines, ...customPipelinesOf(lake.tables)];
  const pipelines = chosenPipelines(options.pipelines, known, accounts, options.lake);
  refuseUnknownAccount(account, accounts, options.lake);
  const summaries: RewriteSummary[] = [];
  const summarize = (pipeline: PipelineTables): RewriteSummary => {
    const summary = newSummary(pipeline);
    summaries.push(summary);
    return summary;
  };
  const names = pipelines.map(({ name }) => name);
  emit({
    event: 'run-started',
    run: null,
    command: command.command,
    account: account ?? null,
    lake: options.lake,
    pipelines: names,
    from: null,
    to: null,
  });
  emitDamage(lake, emit, true);
  const end = (status: 'done' | 'failed'): CommandResult => {
    const seconds = secondsSince();
    emit({ event: 'run-ended', status, seconds });
    return resultOf(status, { lake: options.lake, seconds, summaries, catalog: catalogVersion(lake) }, command);
  };
  if (accounts.size === 0) return end('done');

  command.opened?.({ lake, pipelines, account });
  const limits = options.limits ?? command.limits;
  const lease = await acquireLease(lake, clock, { command: command.command, account, pipelines: names });
  return underLease(lease, async () => {
    try {
      const run = { lake, pipelines, clock, signal, emit, account, limits, summarize };
      await runUnderLease(run, lease, options, context, command);
    } catch (error) {
      throw new CommandError(error, end('failed'));
    }
    return end('done');
  });
}

/** The counts of a pipeline whose tables were not touched yet. */
export function newSummary({ name: pipeline }: PipelineTables): RewriteSummary {
  const none = { slices: 0, files: 0, bytes: 0, replacedFiles: 0, replacedBytes: 0, seconds: 0 };
  return { pipeline, ...none, rows: new Map<string, number>() };
}

/** Runs a command, and vacuums the lake before and after it. */
async function runUnderLease(
  run: MaintenanceRun,
  lease: RunLease,
  options: MaintenanceOptions,
  context: RunContext,
  command: MaintenanceCommand,
): Promise<void> {
  const { lake, account, clock, emit } = run;
  emitOtherRuns(lease, account, emit);
  await lake.setRetention(options.retentionHours);
  let unexported: LedgerlakeError | undefined;
  try {
    await vacuumLake(lake, lease, { clock, emit });
    await command.run(run);
    await vacuumLake(lake, lease, { clock, emit });
    lease.cleared();
  } finally {
    unexported = await exportAfterRun(lake, options, context);
  }
  if (unexported !== undefined) throw unexported;
}

interface EndedMaintenance {
  readonly lake: string;
  readonly seconds: number;
  readonly summaries: readonly RewriteSummary[];
  readonly catalog: CatalogVersion | null;
}

function resultOf(
  status: 'done' | 'failed',
  { lake, seconds, summaries, catalog }: EndedMaintenance,
  { title, nothing, slices }: MaintenanceCommand,
): CommandResult {
  const summary = { status, lake, seconds, pipelines: summaryObject(summaries), catalog };
  const written = summaries.filter(({ files }) => files > 0);
  if (status === 'done' && written.length === 0) return { text: nothing(summaries), summary };
  const heading =
    status === 'done'
      ? `${title} ${printable(lake)}`
      : `Not done: ${printable(lake)}; what is listed here is in the lake and stays`;
  return { text: ['', heading, '', ...changedFiles(written, slices), ''].join('\n'), summary };
}

function chosenPipelines(
  names: readonly string[],
  pipelines: readonly PipelineTables[],
  accounts: ReadonlySet<string>,
  lake: string,
): PipelineTables[] {
  for (const name of names) {
    if (!pipelines.some((pipeline) => pipeline.name === name))
      throw unknownPipeline(name, pipelines, accounts, `${lake} has no table of it`);
  }
  return pipelines.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** A line for each changed pipeline, under headings. */
function changedFiles(summaries: readonly RewriteSummary[], slices: string): string[] {
  const headings = ['pipeline', slices, 'files', 'after', 'size', 'after', 'time'];
  const rows = summaries.map((summary) => [
    printable(summary.pipeline),
    formatCount(summary.slices),
    formatCount(summary.replacedFiles),
    formatCount(summary.files),
    formatBytes(summary.replacedBytes),
    formatBytes(summary.bytes),
    `${summary.seconds.toFixed(1)} s`,
  ]);
  return alignedLines([headings, ...rows]);
}

/** The summary for programs: the keys of every command. */
function summaryObject(summaries: readonly RewriteSummary[]): object {
  return Object.fromEntries(
    summaries.map(({ pipeline, rows, slices, ...files }) => {
      const requests = { requests: 0, retries: 0, throttled: 0, pages: 0 };
      return [pipeline, { slices, ...requests, ...countsOf(rows), ...files, rows: Object.fromEntries(rows) }];
    }),
  );
}
