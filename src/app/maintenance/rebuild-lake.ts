import { isRewritten, newFile } from '../../lake/files/new-file.js';
import { DamagedFile, ifReadable, type NetSums } from '../../lake/delta/data-file.js';
import { count } from '../../core/count.js';
import { basename } from 'node:path';
import { storesRaw, type Table, type PipelineTables } from '../../core/columns/table.js';
import { formatCount } from '../../core/text/amounts.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { tuneForComputation } from '../../core/v8-flags.js';
import type { CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import { pipelineNamed, pipelines } from '../../../pipelines/all-pipelines.js';
import { commandIn, type CommandScope } from '../command-text.js';
import type { CommandResult } from '../command-result.js';
import type { RunContext } from '../context.js';
import { derivationOf } from '../../sources/finances/finances-apis.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { rereadRemedy } from '../coverage/damaged-rows.js';
import { remedyCommand, type NamedLake } from '../remedy.js';
import { existingLake } from '../../lake/existing-lake.js';
import { readLastRuns } from '../../lake/upkeep/last-run.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import type { NewFile } from '../../lake/commit-files.js';
import { checkedFile, checkedSource, damagedFile } from '../../lake/files/local-file.js';
import type { Lake } from '../../lake/lake.js';
import { unlessReplaced } from '../../lake/over-newest.js';
import { rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import { sortedFile } from '../../lake/files/sorted-file.js';
import {
  defaultLimits,
  markHandled,
  subWorkspace,
  withThreads,
  withWorkspace,
  type Limits,
  type Workspace,
} from '../../lake/files/workspace.js';
import { maintain, newSummary, type RewriteSummary, type MaintenanceOptions, type MaintenanceRun } from './command.js';
import { bundlesOf, type Bundle } from '../../lake/files/bundles.js';
import { bundleBytes, UnseenBundles } from './file-bundles.js';
import type * as CustomRebuild from './rebuild-custom.js';
import {
  derivedTableOf,
  estimatedRawBytes,
  hasSameEntries,
  type RederivedEntries,
  type StoredEntries,
} from './rederived-entries.js';
import { RederivingThreads } from './rederiving-threads.js';

/** Entries have fewer bytes than events, and need less memory. */
const rebuildLimits: Limits = { ...defaultLimits, memory: '256MB' };

export interface RebuildOptions extends MaintenanceOptions {
  /** Maximum number of threads; undefined: the number of cores. */
  readonly threads?: number | undefined;
  /** Custom pipelines, whose rows are derived again too; left out: none. */
  readonly customPipelines?: readonly CustomPipeline[] | undefined;
}

/**
 * `ledgerlake rebuild`: derives the entries of every committed file of events again from `raw`, commits those that differ from the
 * stored ones, file by file. It sends no requests to the upstream, and writes nothing where nothing differs.
 * Missing or damaged files of events are reported with the command that reads them again, and the others are derived.
 *
 * @throws LedgerlakeError USAGE for an unknown pipeline or account; LAKE_STORE for the first file of events that is
 *   missing or damaged, STOPPED; commits stay
 */
export async function rebuild(options: RebuildOptions, context: RunContext): Promise<CommandResult> {
  const { customPipelines = [] } = options;
  const lake = await existingLake(options, tables, context);
  reportUndefined(lake.described, options, context);
  // Imported only where there are custom pipelines, because it loads an HTTP client.
  const custom = customPipelines.length === 0 ? undefined : await import('./rebuild-custom.js');
  await custom?.growCustomTables(lake, customPipelines, options.lake);
  const limits = withThreads(rebuildLimits, options.threads);
  const threads = new RederivingThreads((options.limits ?? limits).thread, context.signal);
  const maintained = maintain(options, context, {
    command: 'rebuild',
    pipelines,
    limits,
    title: 'Re-derived what has changed in',
    nothing: (summaries) => {
      const files = summaries.reduce((sum, { slices }) => sum + slices, 0);
      return `\nNothing to do: the entries of ${formatCount(files, 'file')} in ${options.lake} are what this version derives.\n`;
    },
    slices: 'files read',
    opened: ({ lake, pipelines, account }) => {
      tuneForComputation();
      const bundles = derivable(pipelines).flatMap((pipeline) => bundlesOf(lake, pipeline, account));
      threads.expect(bundles.map(({ main }) => estimatedRawBytes(main)));
    },
    run: (run) => rebuildPipelines(run, threads, options, custom),
  });
  // Closes the threads also where the command fails before it runs.
  return maintained.finally(() => threads.close());
}

/** @throws LedgerlakeError LAKE_STORE where files could not be read, once all others are rebuilt */
async function rebuildPipelines(
  run: MaintenanceRun,
  threads: RederivingThreads,
  { lake: location, config, customPipelines = [] }: RebuildOptions,
  custom: typeof CustomRebuild | undefined,
): Promise<void> {
  const { lake, pipelines } = run;
  await withWorkspace(run.limits, lake.store, async (workspace) => {
    try {
      const repaired = { location, config };
      const unread: UnreadFile[] = [];
      for (const pipeline of derivable(pipelines)) {
        const summary = run.summarize(pipeline);
        unread.push(...(await new PipelineRebuild({ run, workspace, threads, pipeline, summary, repaired }).rebuild()));
      }
      for (const pipeline of custom === undefined ? [] : pipelines.filter(custom.hasRawRecords)) {
        const loaded = customPipelines.find(({ name }) => name === pipeline.name)?.loaded;
        if (loaded !== undefined) await custom?.rebuildCustom(run, subWorkspace(workspace), pipeline, loaded);
      }
      refuseUnread(unread, { lake: location, config });
    } finally {
      // Threads write to the workspace, which is removed next.
      await threads.close();
    }
  });
}

/**
 * Derives the entries of every file of events again, in a lake that the caller has leased.
 *
 * @throws LedgerlakeError LAKE_STORE where files of events could not be read, once all others are derived; STOPPED
 */
export async function rederiveEntries(lake: Lake, { clock, signal, emit }: RunContext): Promise<void> {
  const derived = derivable(pipelines);
  const threads = new RederivingThreads(rebuildLimits.thread, signal);
  threads.expect(
    derived.flatMap((pipeline) => bundlesOf(lake, pipeline, undefined)).map(({ main }) => estimatedRawBytes(main)),
  );
  const run = {
    lake,
    pipelines: derived,
    clock,
    signal,
    emit,
    account: undefined,
    limits: rebuildLimits,
    summarize: newSummary,
  };
  const options = { lake: lake.store.location, pipelines: [], account: undefined };
  await rebuildPipelines(run, threads, options, undefined).finally(() => threads.close());
}

function derivable(pipelines: readonly PipelineTables[]): readonly PipelineTables[] {
  return pipelines.filter(({ name }) => {
    const pipeline = pipelineNamed(name);
    return pipeline !== undefined && derivationOf(pipeline) !== undefined;
  });
}

/** Refuses a named custom pipeline without a definition, and reports others, which are not derived again. */
function reportUndefined(described: readonly Table[], options: RebuildOptions, { emit }: RunContext): void {
  const { pipelines: named, customPipelines = [] } = options;
  const names = new Set(described.flatMap((table) => (storesRaw(table) ? (table.customPipeline ?? []) : [])));
  for (const name of [...names].toSorted()) {
    if (customPipelines.some((pipeline) => pipeline.name === name)) continue;
    if (named.includes(name)) {
      throw usageError(`expected the definition of ${name} to derive its rows again, got none; add --pipelines FOLDER`);
    }
    const message = `${name}: not derived again, because its definition is missing; add --pipelines FOLDER`;
    if (named.length === 0) emit({ event: 'message', message });
  }
}

/** A file of events that is missing or damaged, so that its entries can't be derived. */
interface UnreadFile {
  readonly damaged: DamagedFile;
  /** The command that reads it again; undefined: unknown. */
  readonly command: string | undefined;
}

function refuseUnread([first, ...others]: readonly UnreadFile[], location: CommandScope): void {
  if (first === undefined) return;
  const verify = commandIn(location, 'ledgerlake verify');
  const more = others.length === 0 ? '' : `, and ${formatCount(others.length, 'more file')}, which \`${verify}\` lists`;
  const remedy = first.command === undefined ? 'restore it from a copy' : `read it again: \`${first.command}\``;
  throw new LedgerlakeError(
    'LAKE_STORE',
    `${first.damaged.found}${more}; the entries of all others are derived again; ${remedy}`,
  );
}

interface StartedBundle {
  readonly bundle: Bundle;
  readonly workspace: Workspace;
  /** Undefined where they aren't compared: one is missing or damaged, or the last file's entries differed. */
  readonly stored: StoredEntries | undefined;
  readonly entries: RederivedEntries;
}

interface PendingBundle {
  readonly bundle: Bundle;
  readonly started: Promise<StartedBundle>;
}

interface RebuildContext {
  readonly run: MaintenanceRun;
  readonly workspace: Workspace;
  readonly threads: RederivingThreads;
  readonly pipeline: PipelineTables;
  readonly summary: RewriteSummary;
  readonly repaired: Omit<NamedLake, 'lastRuns'>;
}

/** Rebuilds one pipeline: files are derived again concurrently, and committed one after the other. */
class PipelineRebuild {
  readonly #context: RebuildContext;
  readonly #table: Table;
  readonly #bundles: UnseenBundles;
  /** Read at the first damaged file. */
  #lastRuns: ReturnType<typeof readLastRuns> | undefined;
  /** Whether the last file's entries differed: the next file's are then written without a comparison. */
  #isDiffering = false;
  /** Whether a file had equal rows in different bytes, from another version: the next files are then compared by rows. */
  #hasOtherEncoding = false;

  constructor(context: RebuildContext) {
    this.#context = context;
    this.#table = derivedTableOf(context.pipeline.name).table;
    this.#bundles = new UnseenBundles(context.run, context.pipeline);
  }

  /** Rebuilds the pipeline, and returns the files that could not be read. */
  async rebuild(): Promise<readonly UnreadFile[]> {
    const { run, summary } = this.#context;
    const { lake, clock, signal } = run;
    const began = clock.now();
    const unread: UnreadFile[] = [];
    const pending: PendingBundle[] = [];
    try {
      for (;;) {
        this.#startMore(pending);
        const first = pending.shift();
        if (first === undefined) break;
        const { bundle, started } = first;
        const finish = async () => this.#finish(await started);
        await unlessReplaced(lake, [bundle], finish).catch(async (error: unknown) => {
          if (!(error instanceof DamagedFile)) throw error;
          unread.push(await this.#reportUnread(bundle, error));
        });
        signal.throwIfAborted();
      }
    } finally {
      await Promise.allSettled(pending.map(({ started }) => started));
    }
    summary.seconds = (clock.now() - began) / 1000;
    return unread;
  }

  #startMore(pending: PendingBundle[]): void {
    while (pending.length < this.#context.threads.mostPending) {
      const bundle = this.#bundles.next();
      if (bundle === undefined) return;
      pending.push({ bundle, started: markHandled(this.#start(bundle)) });
    }
  }

  async #reportUnread({ main }: Bundle, damaged: DamagedFile): Promise<UnreadFile> {
    const { run, pipeline } = this.#context;
    const repaired = { ...this.#context.repaired, lastRuns: await (this.#lastRuns ??= readLastRuns(run.lake.store)) };
    const loadKeys = main.loadKeys;
    const location = { table: pipeline.main.name, file: main.lakePath };
    const remedy = rereadRemedy({ ...location, loadKey: loadKeys.length === 1 ? (loadKeys[0] ?? '') : '' }, run.lake);
    const command = remedy && remedyCommand(remedy, repaired);
    const slice = loadKeysText(loadKeys);
    run.emit({ event: 'file-unread', file: location.file, slice, reason: damaged.fault, command: command ?? null });
    return { damaged, command };
  }

  /** Derives the entries of a bundle. Throws LedgerlakeError LAKE_STORE where the file of events is missing or damaged. */
  async #start(bundle: Bundle): Promise<StartedBundle> {
    const { run, pipeline, threads } = this.#context;
    const { lake } = run;
    const { main } = bundle;
    const workspace = subWorkspace(this.#context.workspace);
    try {
      const file = await checkedSource(lake.store, main, workspace);
      const { account, loadKeys, size } = main;
      const stored = this.#isDiffering ? undefined : await this.#storedEntries(bundle, workspace);
      const { rawBytes } = workspace.limits;
      const folder = workspace.newPath();
      const entries = await threads
        .entries({ pipeline: pipeline.name, account, loadKeys, size, file, stored, rawBytes, folder })
        .catch((error: unknown) => {
          if (!(error instanceof LedgerlakeError) || error.code !== 'LAKE_STORE') throw error;
          // Its hash is right: such a file was written as it is.
          const fault = `it can't be read as a file of ${pipeline.main.name} (${error.message})`;
          throw damagedFile(lake.store, main, fault);
        });
      return { bundle, workspace, stored, entries };
    } catch (error) {
      await workspace.clear();
      throw error;
    }
  }

  /** The stored files of a bundle's entries; undefined where one is missing or damaged. */
  async #storedEntries({ main, derived }: Bundle, workspace: Workspace): Promise<StoredEntries | undefined> {
    const { run } = this.#context;
    const table = this.#table;
    const files = derived.filter((file) => file.table === table.name);
    const paths: string[] = [];
    for (const file of files) {
      try {
        paths.push(await checkedFile(run.lake.store, file, workspace));
      } catch (error) {
        if (!(error instanceof DamagedFile)) throw error;
        // Its rows are derived again.
        return undefined;
      }
    }
    const [only, ...others] = files;
    const isOfSlice = others.length === 0 && !isRewritten(main) && !this.#hasOtherEncoding;
    const nets = files.map((file) => ifReadable(() => file.net ?? {}));
    return { files: paths, nets, sha256: isOfSlice ? only?.sha256 : undefined };
  }

  /** Commits entries that differ, and removes the bundle's files from the workspace. */
  async #finish({ bundle, workspace, stored, entries }: StartedBundle): Promise<void> {
    const { run, pipeline, summary } = this.#context;
    try {
      const hasSameBytes = entries.files === undefined;
      const isSame =
        hasSameBytes ||
        (stored !== undefined && (await hasSameEntries(workspace.database, this.#table, stored, entries)));
      this.#isDiffering = !isSame;
      this.#hasOtherEncoding ||= stored?.sha256 !== undefined && isSame && !hasSameBytes;
      if (!isSame) await this.#commit(bundle, workspace, entries);
      summary.slices++;
      count(summary.rows, pipeline.main.name, entries.events);
      count(summary.rows, this.#table.name, entries.rows);
      this.#bundles.leaveOut(bundle, (live) => live.main.path === bundle.main.path);
      run.emit({
        event: 'entries-checked',
        pipeline: pipeline.name,
        file: bundle.main.lakePath,
        bytes: bundle.main.size,
        changed: !isSame,
      });
    } finally {
      await workspace.clear();
    }
  }

  /** Joins a bundle's entries in one local file; undefined where there is none. */
  #joined(
    workspace: Workspace,
    { files = [], metadata }: RederivedEntries,
  ): Promise<LocalParquet> | LocalParquet | undefined {
    if (files.length < 2) return files[0];
    const paths = files.map(({ path }) => path);
    const select = (range: string) => `SELECT * FROM ${rowsIn(paths)} WHERE ${range}`;
    const { signal } = this.#context.run;
    return sortedFile(workspace, this.#table, { paths, metadata, select }, { signal });
  }

  /** Replaces the stored entries of a bundle. */
  async #commit(bundle: Bundle, workspace: Workspace, rederived: RederivedEntries): Promise<void> {
    const { run, pipeline, summary } = this.#context;
    const local = await this.#joined(workspace, rederived);
    const entries = local && (await this.#entriesFile(bundle, local, rederived.net));
    const removed = bundle.derived.filter(({ table }) => table === this.#table.name);
    const written = await run.lake.commitFiles({
      operation: 'REBUILD',
      main: pipeline.main,
      files: entries === undefined ? [] : [entries],
      over: [bundle],
      replaced: () => ({ removed }),
    });
    summary.files += written.files;
    summary.bytes += written.bytes;
    summary.replacedFiles += bundle.derived.length;
    summary.replacedBytes += bundleBytes([bundle]) - bundle.main.size;
  }

  /** The new file of a bundle's entries, with the name of the main file. */
  #entriesFile({ main }: Bundle, local: LocalParquet, net: NetSums): Promise<NewFile> {
    const { account, month, shared, loadKeys } = main;
    const name = basename(main.path).replace(/(-\d+-[0-9a-z]+-\d+)?\.parquet$/, '');
    const about = { account, month, name, loadKeys, shared, net, dataChange: true, main: main.lakePath };
    return newFile(local, { table: this.#table, ...about });
  }
}
