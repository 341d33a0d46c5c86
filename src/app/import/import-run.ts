import { resultOf, underLease, type CommandResult } from '../command-result.js';
import { spanOf } from '../../core/windows.js';
import { emitDamage, type RunContext } from '../context.js';
import { exportAfterRun, type AfterRunExport } from '../export/export-after-run.js';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import { formatCount } from '../../core/text/amounts.js';
import { tables } from '../../sources/finances/lake-tables.js';
import type { ReportEncoding } from '../../sources/finances/settlement-reports/report-encodings.js';
import type { ChunkThreads, ImportLimits } from './chunks/chunk-threads.js';
import { importInputs } from './import-inputs.js';
import type { Input } from './input-bytes.js';
import { importedPipelines, ImportSummaries, importObject, importText } from './import-summary.js';
import { catalogVersion } from '../catalog-version.js';
import { Lake } from '../../lake/lake.js';
import { readLastRuns } from '../../lake/upkeep/last-run.js';
import { acquireLease, emitOtherRuns } from '../../lake/leases.js';
import { refuseFile } from '../../lake/existing-lake.js';
import { openStore } from '../../lake/store/open-store.js';
import type { Store } from '../../lake/store/store.js';
import { vacuumLake } from '../../lake/upkeep/vacuum.js';
import { refuseMixing } from '../configuration/account.js';
import type { OptionalSettings } from '../configuration/settings.js';
import { holesFailure, type RunReport, noteRun } from '../load/run-summary.js';

export interface ImportPagesOptions extends AfterRunExport, OptionalSettings<'retentionHours' | 'encryption'> {
  readonly account: string;
  /** Paths; `-` for standard input. */
  readonly files: readonly string[];
  readonly stdin: () => AsyncIterable<Buffer>;
  readonly skipBroken: boolean;
  /** Of settlement reports; undefined: recognised. */
  readonly encoding?: ReportEncoding | undefined;
  /** Used instead of the store that `lake` names. */
  readonly store?: Store;
  /** Maximum number of threads; undefined: the number of cores. */
  readonly threads?: number | undefined;
  /** Memory limits; left out: `importLimits`. */
  readonly limits?: ImportLimits;
}

/** Imports inputs that can be opened. Throws as `importPages` does. */
export async function runImport(
  inputs: readonly Input[],
  threads: ChunkThreads,
  options: ImportPagesOptions & { readonly limits: ImportLimits },
  context: RunContext,
): Promise<CommandResult> {
  const { account, skipBroken, encoding, limits } = options;
  const { clock, signal, emit } = context;
  const store = options.store ?? openStore(options.lake, { clock, emit, encryption: options.encryption });
  if (options.store === undefined) await refuseFile(options.lake);
  const lake = await Lake.open(store, tables, clock);
  refuseMixing(account, lake.snapshot.accounts(), options.lake);

  const began = clock.now();
  const summaries = new ImportSummaries();
  const lease = await acquireLease(lake, clock, { command: 'import', account: options.account, pipelines: [] });
  return underLease(lease, async () => {
    emitOtherRuns(lease, account, emit);
    // The lease keeps other runs from forgetting rows; the import must know what was forgotten before.
    await lake.refresh();
    await lake.publish();
    await lake.setRetention(options.retentionHours);
    emit({
      event: 'run-started',
      run: lease.id,
      command: 'import',
      account,
      lake: options.lake,
      pipelines: importedPipelines.map(({ name }) => name),
      from: null,
      to: null,
    });
    emitDamage(lake, emit);
    const vacuum = async (): Promise<void> => {
      await vacuumLake(lake, lease, { clock, emit, account });
      lease.cleared();
    };
    let incomplete: unknown;
    let unvacuumed: unknown;
    try {
      const importOptions = { lake, clock, account, signal, skipBroken, encoding, limits, emit };
      const failures = await importInputs(inputs, threads, importOptions, summaries);
      incomplete = leftOutFailure(failures, inputs.length) ?? refusedFailure(summaries);
      unvacuumed = await vacuum().catch((error: unknown) => error);
    } catch (error) {
      incomplete = error;
    }
    const unexported = await exportAfterRun(lake, options, context);
    // Ranked as those of a load.
    const failure = incomplete ?? unvacuumed ?? unexported ?? holesFailure(summaries.all);
    return resultOf(await endImport(options, context, { run: lease.id, lake, summaries, failure, began }), failure);
  });
}

/** The failure of an import that left inputs out; undefined where there is none. */
function leftOutFailure(failures: ReadonlyMap<string, LedgerlakeError>, inputs: number): LedgerlakeError | undefined {
  const [first] = failures.values();
  if (first === undefined) return undefined;
  const others = failures.size === 1 ? '' : ` (and ${failures.size - 1} more)`;
  const what = inputs === 1 ? 'nothing was imported' : `left out ${failures.size} of ${inputs} files${others}`;
  return new LedgerlakeError('BROKEN_LINE', `${what}: ${first.message}`);
}

/** The failure of an import that left settlements out; undefined where there is none. */
function refusedFailure({ refused }: ImportSummaries): LedgerlakeError | undefined {
  const [first] = refused;
  if (first === undefined) return undefined;
  return new LedgerlakeError('BROKEN_LINE', `left out ${formatCount(refused.length, 'settlement')}: ${first}`);
}

interface EndedImport extends Pick<RunReport, 'run' | 'failure'> {
  readonly lake: Lake;
  readonly summaries: ImportSummaries;
  /** Milliseconds since 1970. */
  readonly began: number;
}

/** Notes the run in the lake. Returns its result. */
async function endImport(
  { account, lake: location }: ImportPagesOptions,
  { clock, emit }: RunContext,
  { run, lake, summaries, failure, began }: EndedImport,
): Promise<CommandResult> {
  const ranges = summaries.all.flatMap(({ range }) => range ?? []);
  const endedAt = clock.now();
  const report: RunReport = {
    account,
    run,
    lake: location,
    failure,
    catalog: catalogVersion(lake),
    seconds: (endedAt - began) / 1000,
    summaries: summaries.all,
    // An import without rows has the range of its own time.
    range: ranges.length === 0 ? { start: began, end: endedAt } : spanOf(ranges),
  };
  try {
    // Keeps the account's endpoint of the note before.
    const last = (await readLastRuns(lake.store)).get(account);
    const { endpoint, endpointConfigured: isEndpointConfigured } = last ?? {};
    const times = { startedAt: began, endedAt };
    const note = { command: 'import', ...times, endpoint: endpoint ?? undefined, isEndpointConfigured, requested: [] };
    await noteRun(lake.store, report, note, emit);
  } catch (error) {
    emit({ event: 'note-not-written', note: 'last-run', reason: messageOf(error) });
  }
  emit({ event: 'run-ended', status: failure === undefined ? 'done' : 'failed', seconds: report.seconds });
  return { text: importText(report, summaries), summary: importObject(report, summaries) };
}
