import { readFile } from 'node:fs/promises';
import type { Table, Family } from '../../core/columns/table.js';
import type { ParquetSource } from '../../core/parquet/parquet-source.js';
import { formatCount } from '../../core/text/amounts.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { tuneForSeconds } from '../../core/v8-flags.js';
import { existingLake, refuseWithoutFolder } from '../../lake/existing-lake.js';
import { Lake } from '../../lake/lake.js';
import { openStore } from '../../lake/store/open-store.js';
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
  handled,
  subWorkspace,
  withThreads,
  withWorkspace,
  type Limits,
  type Workspace,
} from '../../lake/files/workspace.js';
import { maintain, type FamilySummary, type MaintenanceOptions, type MaintenanceRun } from './command.js';
import { addSize, bundleKey, bundlesOf, bytesOf, replacing, whileLive, type Bundle } from './file-bundles.js';
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
  const { export: formats = [], lake: location, store } = options;
  if (formats.length === 0) return undefined;
  const lake = await (store === undefined
    ? existingLake(location, tables, context.clock)
    : Lake.open(store, tables, context.clock));
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
  if (custom !== undefined) {
    if (options.store === undefined) await refuseWithoutFolder(options.lake);
    await custom.updateDescriptions(
      options.store ?? openStore(options.lake, { clock: context.clock }),
      customPipelines,
      options.lake,
    );
  }
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
      tuneForSeconds();
      const bundles = derivable(families).flatMap((family) => bundlesOf(lake, family, account));
      threads.expect(bundles.map(({ main }) => pageBytes(main)));
    },
    run: async (run) => {
      const { lake, families } = run;
      await withWorkspace(run.limits, lake.store, async (workspace) => {
        try {
          const mended = { lake, location: options.lake, config: options.config };
          const unread: UnreadFile[] = [];
          for (const family of derivable(families)) {
            const summary = run.begin(family);
            unread.push(...(await new FamilyRebuild({ run, workspace, threads, family, summary, mended }).rebuild()));
          }
          if (custom !== undefined) {
            for (const family of families.filter(custom.hasRawRecords)) {
              const loaded = customPipelines.find(({ name }) => name === family.pipeline)?.loaded;
              if (loaded !== undefined) await custom.rebuildCustom(run, subWorkspace(workspace), family, loaded);
            }
          }
          refuseUnread(unread, { lake: options.lake, config: options.config });
        } finally {
          // Before the workspace goes, which they write to.
          await threads.close();
        }
      });
    },
  });
  // Also where the command does not come to it.
  await maintained.finally(() => threads.close());
}

function derivable(families: readonly Family[]): readonly Family[] {
  return families.filter(({ pipeline }) => pipelineNamed(pipeline)?.derivation !== undefined);
}

/** Refuses a custom pipeline that was named without its definition, and reports others: nothing of them is derived again. */
async function reportUndefined(
  { lake, pipelines: named, customPipelines = [], store: given }: RebuildOptions,
  { clock, emit }: RunContext,
): Promise<void> {
  if (given === undefined) await refuseWithoutFolder(lake);
  const store = given ?? openStore(lake, { clock });
  const kept = (await describedTables(store)).filter((table) => hasColumn(table, 'raw'));
  const names = new Set(kept.flatMap(({ ownPipeline }) => ownPipeline ?? []));
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
    const { run, family, summary, threads } = this.#context;
    const { lake, clock, account, signal, emit } = run;
    const began = clock.now();
    const planned = bundlesOf(lake, family, account);
    const bytes = planned.map(({ main }) => main).reduce(addSize, 0);
    emit({ event: 'files-planned', pipeline: family.pipeline, files: planned.length, bytes });
    const unread: UnreadFile[] = [];
    const pending: { readonly bundle: Bundle; readonly started: Promise<StartedBundle> }[] = [];
    try {
      for (;;) {
        while (pending.length < threads.most) {
          const bundle = this.#next();
          if (bundle === undefined) break;
          pending.push({ bundle, started: handled(this.#start(bundle)) });
        }
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
      const folder = workspace.fresh();
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
    const adds = derived.filter((of) => of.table === table).map(({ add }) => add);
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
    const table = this.#table;
    const { main } = bundle;
    const now = clock.now();
    const net = JSON.stringify(rederived.net);
    const files: NewFile[] = [];
    const local = await this.#joined(workspace, rederived);
    if (local !== undefined) {
      const bytes = await readFile(local.path);
      const content = contentOf(bytes);
      const { sha256 } = content;
      const stem = main.path.replace(/(-[0-9a-f]{16}(-\d+)?)?\.parquet$/, '');
      const added = { path: `${stem}-${sha256.slice(0, 16)}.parquet`, partitionValues: main.partitionValues, content };
      const tags = { ...sharedTags([main.tags ?? {}]), units: JSON.stringify(loadKeysOf(main)), net };
      const add = addOf({ ...added, dataChange: true, rows: local.rows, stats: local.stats, tags }, now);
      files.push({ table, add, read: () => Promise.resolve(bytes) });
      // One that was damaged, and is derived again to the byte, is put right where it is.
      const damaged = bundle.derived.find((file) => file.table === table && file.add.tags?.['sha256'] === sha256);
      if (damaged !== undefined) await lake.store.write(lake.table(table.name).pathOf(damaged.add), bytes);
    }
    const kept = (of: Table, add: Add) => () => checkedBytes(lake.store, lake.table(of.name), add);
    // Other derived tables of the pipeline stay as they are, and are referenced again.
    for (const other of bundle.derived) {
      if (other.table !== table) files.push({ ...other, read: kept(other.table, other.add) });
    }
    // The file itself stays under its own path: what it references is what is replaced.
    const live = { ...main, dataChange: false, modificationTime: now, tags: { ...main.tags, net } };
    files.push({ table: family.main, add: live, read: kept(family.main, main) });
    const decide = replacing([bundle]);
    const { isCommitted } = await commitTransaction(lake, clock, {
      ...{ operation: 'REBUILD', main: family.main, files, decide },
      swaps: true,
    });
    if (!isCommitted) return false;
    if (local !== undefined) {
      summary.files++;
      summary.bytes += files[0]?.add.size ?? 0;
    }
    summary.replacedFiles += bundle.derived.length;
    summary.replacedBytes += bytesOf([bundle]) - main.size;
    return true;
  }
}
