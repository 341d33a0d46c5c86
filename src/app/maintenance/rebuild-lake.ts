import { readFile } from 'node:fs/promises';
import type { Table, Family } from '../../core/columns/table.js';
import type { ParquetSource } from '../../core/parquet/parquet-source.js';
import { formatCount } from '../../core/text/amounts.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { tuneForComputation } from '../../core/v8-flags.js';
import { describedTables } from '../../lake/table-descriptions.js';
import { acquireLease } from '../../lake/upkeep/leases.js';
import { tables } from '../../sources/finances/lake-tables.js';
import type { CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import { pipelineNamed, pipelines } from '../../../pipelines/all-pipelines.js';
import { commandIn, type CommandScope } from '../command-text.js';
import type { RunContext } from '../context.js';
import { exportAfterRun } from '../export/export-after-run.js';
import { rereadCommand, type MendedLake } from '../reread-command.js';
import { readLastRun } from '../../lake/upkeep/last-run.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import { DamagedFile, addOf, contentOf, loadKeysOf } from '../../lake/delta/file-tags.js';
import type { Add } from '../../lake/delta/actions.js';
import { commitTransaction, type NewFile } from '../../lake/transaction/transaction.js';
import { checkedBytes, checkedSource } from '../../lake/files/checked-file.js';
import { rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import { isRewritten, sharedTags } from '../../lake/files/new-file.js';
import { hasColumn, sortedFile } from '../../lake/files/sorted-file.js';
import {
  defaultLimits,
  markHandled,
  subWorkspace,
  withThreads,
  withWorkspace,
  type Limits,
  type Workspace,
} from '../../lake/files/workspace.js';
import {
  existingStore,
  maintain,
  openExisting,
  type FamilySummary,
  type MaintenanceOptions,
  type MaintenanceRun,
} from './command.js';
import { addSize, bundleKey, bundlesOf, bytesOf, replacing, whileLive, type Bundle } from './file-bundles.js';
import type * as CustomRebuild from './rebuild-custom.js';
import type { RebuildLogsOptions } from './rebuild-logs.js';
import { derivedTableOf, pageBytes, type RederivedEntries, type StoredEntries } from './rederived-entries.js';
import { RederivingThreads } from './rederiving-threads.js';

/** Entries are narrow: less is enough than for files of events. */
const rebuildLimits: Limits = { ...defaultLimits, memory: '256MB' };

export interface RebuildOptions extends MaintenanceOptions {
  /** Threads at most; undefined: as many as there are cores. */
  readonly threads?: number | undefined;
  /** Custom pipelines, whose rows are derived again as well; left out: there are none. */
  readonly customPipelines?: readonly CustomPipeline[] | undefined;
  /** Writes logs anew first: see `rebuildLogs`. Left out: they are as they should be. */
  readonly log?: Pick<RebuildLogsOptions, 'confirm'> | undefined;
}

/**
 * `ledgerlake rebuild`: derives the entries of every committed file of events again from `raw`, commits those that differ
 * from the stored ones, file by file, and prints a summary. No upstream, no quota; where nothing differs nothing is written.
 * Files of events that are missing or damaged are reported with the command that reads them again, and the others are derived.
 *
 * @throws LedgerlakeError USAGE for an unknown pipeline or account, LAKE_STORE naming the first file of events that is missing
 *   or was changed behind the lake's back, STOPPED; the summary is printed by then, and what was committed stays
 */
export async function rebuild(options: RebuildOptions, context: RunContext): Promise<void> {
  if (options.log === undefined) {
    await reportUndefined(options, context);
    return rebuildEntries(options, context);
  }
  if (options.account !== undefined)
    throw usageError('expected --log without --account, got both; a log contains all accounts');
  const began = context.clock.now();
  const known = () => ({ lake: options.lake, seconds: (context.clock.now() - began) / 1000, pipelines: {} });
  context.setProvisionalSummary?.(known);
  const { rebuildLogs } = await import('./rebuild-logs.js');
  const logs = await rebuildLogs({ ...options, ...options.log }, context);
  const printJson: RunContext['printJson'] = (summary) => {
    context.printJson({ ...summary, logs });
  };
  // Where every log can be read, a run that was killed may have left entries to derive.
  if (logs.tables.length === 0) await rebuildEntries(options, { ...context, printJson });
  else if (logs.pipelines.length === 0) {
    const unexported = await exportOnly(options, context);
    printJson({ status: unexported === undefined ? 'done' : 'failed', ...known() });
    if (unexported !== undefined) throw unexported;
  } else await rebuildEntries({ ...options, pipelines: logs.pipelines }, { ...context, printJson });
}

/** Where no entries are to be derived, and so no lake is open, it is opened for the export. */
async function exportOnly(options: RebuildOptions, context: RunContext): Promise<LedgerlakeError | undefined> {
  if (options.export === undefined || options.export.length === 0) return undefined;
  const lake = await openExisting(options, tables, context.clock);
  const lease = await acquireLease(lake.store, context.clock, { command: 'rebuild', pipelines: [] });
  try {
    return await exportAfterRun(lake, options, context);
  } finally {
    await lease.release();
  }
}

async function rebuildEntries(options: RebuildOptions, context: RunContext): Promise<void> {
  const { customPipelines = [] } = options;
  // Loaded where there are some: most lakes have none, and it loads a client.
  const custom = customPipelines.length === 0 ? undefined : await import('./rebuild-custom.js');
  await custom?.updateDescriptions(await existingStore(options, context.clock), customPipelines, options.lake);
  const limits = withThreads(rebuildLimits, options.threads);
  const threads = new RederivingThreads((options.limits ?? limits).thread, context.signal);
  const maintained = maintain(options, context, {
    ...{ command: 'rebuild', pipelines, limits },
    title: 'Re-derived what has changed in',
    nothing: (summaries) => {
      const files = summaries.reduce((sum, { slices }) => sum + slices, 0);
      return `\nNothing to do: the entries of ${formatCount(files, 'file')} in ${options.lake} are what this version derives.\n`;
    },
    slices: 'files read',
    opened: ({ lake, families, account }) => {
      tuneForComputation();
      const bundles = derivable(families).flatMap((family) => bundlesOf(lake, family, account));
      threads.expect(bundles.map(({ main }) => pageBytes(main)));
    },
    run: (run) => rebuildFamilies(run, threads, options, custom),
  });
  // Also where the command fails before it runs.
  await maintained.finally(() => threads.close());
}

/** Throws LAKE_STORE where files could not be read, once all others are rebuilt. */
async function rebuildFamilies(
  run: MaintenanceRun,
  threads: RederivingThreads,
  { lake: location, config, customPipelines = [] }: RebuildOptions,
  custom: typeof CustomRebuild | undefined,
): Promise<void> {
  const { lake, families } = run;
  await withWorkspace(run.limits, lake.store, async (workspace) => {
    try {
      const mended = { lake, location, config };
      const unread: UnreadFile[] = [];
      for (const family of derivable(families)) {
        const summary = run.begin(family);
        unread.push(...(await new FamilyRebuild({ run, workspace, threads, family, summary, mended }).rebuild()));
      }
      for (const family of custom === undefined ? [] : families.filter(custom.hasRawRecords)) {
        const loaded = customPipelines.find(({ name }) => name === family.pipeline)?.loaded;
        if (loaded !== undefined) await custom?.rebuildCustom(run, subWorkspace(workspace), family, loaded);
      }
      refuseUnread(unread, { lake: location, config });
    } finally {
      // They write to the workspace, which is removed next.
      await threads.close();
    }
  });
}

function derivable(families: readonly Family[]): readonly Family[] {
  return families.filter(({ pipeline }) => pipelineNamed(pipeline)?.derivation !== undefined);
}

/** Refuses a custom pipeline that was named without its definition, and reports others: nothing of them is derived again. */
async function reportUndefined(options: RebuildOptions, { clock, emit }: RunContext): Promise<void> {
  const { pipelines: named, customPipelines = [] } = options;
  const described = await describedTables(await existingStore(options, clock));
  const names = new Set(described.flatMap((table) => (hasColumn(table, 'raw') ? (table.customPipeline ?? []) : [])));
  for (const name of [...names].toSorted()) {
    if (customPipelines.some((pipeline) => pipeline.name === name)) continue;
    if (named.includes(name)) {
      throw usageError(`expected the definition of ${name} to derive its rows again, got none; add --pipelines FOLDER`);
    }
    const message = `${name}: not derived again, because its definition is missing; add --pipelines FOLDER`;
    if (named.length === 0) emit({ event: 'message', message });
  }
}

/** A file of events whose entries can't be derived, as it is missing or damaged. */
interface UnreadFile {
  readonly damaged: DamagedFile;
  /** The command that reads it again; undefined where none is known. */
  readonly mend: string | undefined;
}

function refuseUnread([first, ...others]: readonly UnreadFile[], location: CommandScope): void {
  if (first === undefined) return;
  const verify = commandIn(location, 'ledgerlake verify');
  const more = others.length === 0 ? '' : `, and ${formatCount(others.length, 'more file')}, which \`${verify}\` lists`;
  const remedy = first.mend === undefined ? 'restore it from a copy' : `read it again: \`${first.mend}\``;
  throw new LedgerlakeError(
    'LAKE_STORE',
    `${first.damaged.found}${more}; the entries of all others are derived again; ${remedy}`,
  );
}

/** A bundle whose entries are derived again. */
interface StartedBundle {
  readonly bundle: Bundle;
  /** Holds its files alone. */
  readonly workspace: Workspace;
  /** Whether the stored entries were to be compared by their file's bytes. */
  readonly isByBytes: boolean;
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
  readonly family: Family;
  readonly summary: FamilySummary;
  readonly mended: Omit<MendedLake, 'lastRun'>;
}

/** The rebuild of one family: files are derived again side by side, and committed one after the other. */
class FamilyRebuild {
  readonly #context: RebuildContext;
  /** Of the family's entries. */
  readonly #table: Table;
  /** Main files, with what they reference, whose entries are what they should be, or are being derived. */
  readonly #seen = new Set<string>();
  /** Read where a file is damaged: few lakes have one. */
  #lastRun: ReturnType<typeof readLastRun> | undefined;
  /** Whether the last file's entries differed: then those of the next one most likely do, and are written at once. */
  #isDiffering = false;
  /** Whether a file had the rows that it should have, in other bytes: another version wrote it, and most likely the next ones too. */
  #isEncodedOtherwise = false;

  constructor(context: RebuildContext) {
    this.#context = context;
    this.#table = derivedTableOf(context.family.pipeline).table;
  }

  /** The files that could not be read. */
  async rebuild(): Promise<readonly UnreadFile[]> {
    const { run, family, summary } = this.#context;
    const { lake, clock, account, signal, emit } = run;
    const began = clock.now();
    const planned = bundlesOf(lake, family, account);
    const bytes = planned.map(({ main }) => main).reduce(addSize, 0);
    emit({ event: 'files-planned', pipeline: family.pipeline, files: planned.length, bytes });
    const unread: UnreadFile[] = [];
    const pending: PendingBundle[] = [];
    try {
      for (;;) {
        this.#startMore(pending);
        const first = pending.shift();
        if (first === undefined) break;
        const { bundle } = first;
        const started = await whileLive(lake, family, [bundle], () => first.started).catch(async (error: unknown) => {
          if (!(error instanceof DamagedFile)) throw error;
          unread.push(await this.#reported(bundle, error));
          return undefined;
        });
        if (started !== undefined) await this.#finish(started);
        signal.throwIfAborted();
      }
    } finally {
      await Promise.allSettled(pending.map(({ started }) => started));
    }
    summary.seconds = (clock.now() - began) / 1000;
    return unread;
  }

  /** Starts as many bundles as may be under way at once. */
  #startMore(pending: PendingBundle[]): void {
    while (pending.length < this.#context.threads.most) {
      const bundle = this.#next();
      if (bundle === undefined) return;
      pending.push({ bundle, started: markHandled(this.#start(bundle)) });
    }
  }

  async #reported({ main }: Bundle, damaged: DamagedFile): Promise<UnreadFile> {
    const { run, family } = this.#context;
    const mended = { ...this.#context.mended, lastRun: await (this.#lastRun ??= readLastRun(run.lake.store)) };
    const loadKeys = loadKeysOf(main);
    const location = { table: family.main.name, file: run.lake.table(family.main.name).pathOf(main) };
    const mend = rereadCommand({ ...location, slice: loadKeys.length === 1 ? (loadKeys[0] ?? '') : '' }, mended);
    const slice = loadKeysText(loadKeys);
    run.emit({ event: 'file-unread', file: location.file, slice, reason: damaged.fault, mend: mend ?? null });
    return { damaged, mend };
  }

  /** Looked for anew each time: another run may replace files with one that hasn't been checked. */
  #next(): Bundle | undefined {
    const { run, family } = this.#context;
    const bundle = bundlesOf(run.lake, family, run.account).find(
      (candidate) => !this.#seen.has(bundleKey(candidate.main)),
    );
    if (bundle !== undefined) this.#seen.add(bundleKey(bundle.main));
    return bundle;
  }

  /** Throws LAKE_STORE where the file of events is missing or was changed. */
  async #start(bundle: Bundle): Promise<StartedBundle> {
    const { run, family, threads } = this.#context;
    const { lake } = run;
    const { main } = bundle;
    const workspace = subWorkspace(this.#context.workspace);
    try {
      const file = await checkedSource(lake.store, lake.table(family.main.name), main, workspace);
      const stored = this.#isDiffering ? undefined : await this.#storedEntries(bundle, workspace);
      const { rawBytes } = workspace.limits;
      const folder = workspace.newPath();
      const entries = await threads.entries({ pipeline: family.pipeline, main, file, stored, rawBytes, folder });
      return { bundle, workspace, isByBytes: stored?.sha256 !== undefined, entries };
    } catch (error) {
      await workspace.clear();
      throw error;
    }
  }

  /** The files of a bundle's entries; undefined where not all of them are in the lake as their commit says. */
  async #storedEntries({ main, derived, isWhole }: Bundle, workspace: Workspace): Promise<StoredEntries | undefined> {
    if (!isWhole) return undefined;
    const { run } = this.#context;
    const table = this.#table;
    const adds = derived.filter((file) => file.table === table).map(({ add }) => add);
    const files: ParquetSource[] = [];
    for (const add of adds) {
      try {
        files.push(await checkedSource(run.lake.store, run.lake.table(table.name), add, workspace));
      } catch (error) {
        if (!(error instanceof DamagedFile)) throw error;
        // It is derived again, so it is no loss.
        return undefined;
      }
    }
    const [only, ...others] = adds;
    const isAsLanded = others.length === 0 && !isRewritten(main) && !this.#isEncodedOtherwise;
    return { files, sha256: isAsLanded ? only?.tags?.['sha256'] : undefined };
  }

  /** Commits what differs, and takes the bundle's files out of the workspace. */
  async #finish({ bundle, workspace, isByBytes, entries }: StartedBundle): Promise<void> {
    const { run, family, summary } = this.#context;
    const { lake, emit } = run;
    const isSame = entries.sameBy !== undefined;
    this.#isDiffering = !isSame;
    this.#isEncodedOtherwise ||= isByBytes && entries.sameBy === 'rows';
    if (!isSame && !(await this.#commit(bundle, workspace, entries))) {
      // Another run has replaced it meanwhile.
      await lake.refresh();
    } else {
      summary.slices++;
      summary.rows.set(family.main.name, (summary.rows.get(family.main.name) ?? 0) + entries.events);
      summary.rows.set(this.#table.name, (summary.rows.get(this.#table.name) ?? 0) + entries.rows);
      const main = lake.table(family.main.name);
      const live = main.snapshot.files.get(bundle.main.path);
      // It references other files of entries now, and these are what they should be.
      if (live !== undefined) this.#seen.add(bundleKey(live));
      emit({
        ...{ event: 'entries-checked', pipeline: family.pipeline, file: main.pathOf(bundle.main) },
        ...{ bytes: bundle.main.size, changed: !isSame },
      });
    }
    await workspace.clear();
  }

  /** All of a bundle's entries as one local file; undefined where there is none. */
  #joined(
    workspace: Workspace,
    { files, metadata }: RederivedEntries,
  ): Promise<LocalParquet> | LocalParquet | undefined {
    if (files.length < 2) return files[0];
    const paths = files.map(({ path }) => path);
    const select = (range: string) => `SELECT * FROM ${rowsIn(paths)} WHERE ${range}`;
    const { signal } = this.#context.run;
    return sortedFile(workspace, this.#table, { paths, metadata, select }, { signal });
  }

  /** Replaces the stored entries of a bundle; false where another run replaced the bundle meanwhile. */
  async #commit(bundle: Bundle, workspace: Workspace, rederived: RederivedEntries): Promise<boolean> {
    const { run, family, summary } = this.#context;
    const { lake, clock } = run;
    const local = await this.#joined(workspace, rederived);
    const net = JSON.stringify(rederived.net);
    const entries = local && (await this.#entriesFile(bundle, local, net));
    const { isCommitted } = await commitTransaction(lake, clock, {
      ...{ operation: 'REBUILD', main: family.main, swaps: true, decide: replacing([bundle]) },
      files: [...(entries === undefined ? [] : [entries]), ...this.#keptFiles(bundle, net)],
    });
    if (!isCommitted) return false;
    if (entries !== undefined) {
      summary.files++;
      summary.bytes += entries.add.size;
    }
    summary.replacedFiles += bundle.derived.length;
    summary.replacedBytes += bytesOf([bundle]) - bundle.main.size;
    return true;
  }

  /** The file of a bundle's entries, named after the main file. */
  async #entriesFile({ main, derived }: Bundle, local: LocalParquet, net: string): Promise<NewFile> {
    const { lake, clock } = this.#context.run;
    const table = this.#table;
    const bytes = await readFile(local.path);
    const content = contentOf(bytes);
    const { sha256 } = content;
    const stem = main.path.replace(/(-[0-9a-f]{16}(-\d+)?)?\.parquet$/, '');
    const added = { path: `${stem}-${sha256.slice(0, 16)}.parquet`, partitionValues: main.partitionValues, content };
    const tags = { ...sharedTags([main.tags ?? {}]), units: JSON.stringify(loadKeysOf(main)), net };
    const add = addOf({ ...added, dataChange: true, rows: local.rows, stats: local.stats, tags }, clock.now());
    // One that was damaged, and is derived again to the byte, is put right where it is.
    const damaged = derived.find((file) => file.table === table && file.add.tags?.['sha256'] === sha256);
    if (damaged !== undefined) await lake.store.write(lake.table(table.name).pathOf(damaged.add), bytes);
    return { table, add, read: () => Promise.resolve(bytes) };
  }

  /** The other files of a bundle, which stay where they are: what the main one references is what is replaced. */
  #keptFiles({ main, derived }: Bundle, net: string): NewFile[] {
    const { run, family } = this.#context;
    const { lake, clock } = run;
    const read = (table: Table, add: Add) => () => checkedBytes(lake.store, lake.table(table.name), add);
    const others = derived.filter(({ table }) => table !== this.#table);
    const live = { ...main, dataChange: false, modificationTime: clock.now(), tags: { ...main.tags, net } };
    return [
      ...others.map(({ table, add }) => ({ table, add, read: read(table, add) })),
      { table: family.main, add: live, read: read(family.main, main) },
    ];
  }
}
