import type { Clock } from '../../core/clock.js';
import type { Table, Family } from '../../core/columns/table.js';
import type { Emit } from '../../core/events/run-event.js';
import { entries, groupEntries, orderEntries } from '../../sources/finances/model/tables.js';
import type { Add } from '../../lake/delta/actions.js';
import { commitTransaction, type NewFile } from '../../lake/transaction/transaction.js';
import { addOf, contentOf, loadKeysOf, DamagedFile } from '../../lake/delta/file-tags.js';
import { sharedTags } from '../../lake/files/new-file.js';
import type { Lake } from '../../lake/lake.js';
import type { ParquetSource } from '../../core/parquet/wasm.js';
import { withWriter, type SizedWriter } from '../../core/parquet/thread.js';
import { bundlesOf, replacing, whileLive, type Bundle } from './file-bundles.js';
import { checkedBytes, checkedSource } from '../../lake/files/checked-file.js';
import {
  handled,
  defaultLimits,
  ownFiles,
  withWorkspace,
  type Limits,
  type Workspace,
} from '../../lake/files/workspace.js';
import { pageBytes, rederive, type RederivedFiles, type Rederiving } from './rederived-files.js';
import { storedSums, type RowCounts } from './rederived-entries.js';
import { compareSomewhere, ComparisonThread } from './comparison-thread.js';
import { newWork, type Work } from './work-summary.js';

/** Tables whose rows are made from the `raw` of a main table's rows. */
const entryTables: ReadonlySet<Table> = new Set([entries, groupEntries, orderEntries]);

/** Entries are narrow: less is enough than for files of events. */
export const rebuildLimits: Limits = { ...defaultLimits, memory: '256MB' };

export interface RebuildOptions {
  readonly lake: Lake;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly families: readonly Family[];
  /** Undefined: every account. */
  readonly account: string | undefined;
  readonly limits: Limits;
  readonly emit: Emit;
}

/**
 * Derives the entries of every committed file of events again from `raw`, and commits those that differ from the stored
 * ones, file by file. Where nothing differs nothing is written.
 *
 * @throws LedgerlakeError LAKE_STORE naming a file of events that is missing or was changed behind the lake's back,
 *   STOPPED; what was committed by then stays
 */
export async function rebuildLake(options: RebuildOptions, work: Map<Family, Work>): Promise<void> {
  const { limits, signal, lake, account } = options;
  const rebuilt = options.families.flatMap((family) => {
    const [table] = family.derived.filter((derived) => entryTables.has(derived));
    return table === undefined ? [] : [{ family, table }];
  });
  await withWorkspace(limits, lake.store, (workspace) =>
    withWriter(limits.thread, signal, async (writer) => {
      let bytes = 0;
      for (const { family } of rebuilt) {
        for (const { main } of bundlesOf(lake, family, account)) bytes += pageBytes(main);
      }
      writer.expect(bytes);
      const thread = bytes < limits.thread.from ? undefined : new ComparisonThread(limits.comparisonScript);
      try {
        for (const { family, table } of rebuilt) {
          const done = newWork(family.pipeline);
          work.set(family, done);
          await new FamilyRebuild(options, { workspace, writer, thread }, family, table, done).run();
        }
      } finally {
        await thread?.close();
      }
    }),
  );
}

/** What works on the files of a family. */
interface Workers {
  readonly workspace: Workspace;
  readonly writer: SizedWriter;
  /** Compares beside the main thread; undefined where there is too little to compare. */
  readonly thread: ComparisonThread | undefined;
}

/** A bundle whose file of events is read, and compared with its entries unless those are likely to differ. */
interface Checked {
  readonly bundle: Bundle;
  /** Holds its files alone. */
  readonly workspace: Workspace;
  /** The file of events; undefined where another run replaced it meanwhile. */
  readonly file?: ParquetSource | undefined;
  /** The entries' rows; undefined where they differ, were not compared, or the thread that compared them died. */
  readonly unchanged?: RowCounts | undefined;
  /** The files of entries; undefined where not all of them are in the lake as their commit says. */
  readonly stored?: readonly ParquetSource[] | undefined;
}

/** A bundle whose entries are unchanged, or derived again and handed over to the writer. */
interface Begun extends Checked {
  /** Undefined where nothing changed, or where another run replaced the file meanwhile. */
  readonly rederiving?: Rederiving | undefined;
}

/** The rebuild of one family: files are checked ahead, derived again one by one, and committed in order. */
class FamilyRebuild {
  readonly #options: RebuildOptions;
  readonly #workers: Workers;
  readonly #family: Family;
  readonly #table: Table;
  readonly #done: Work;
  /** Main files, with what they reference, whose entries are what they should be, or are being checked. */
  readonly #seen = new Set<string>();
  /** Where one file's entries differ, most files' do: it is this version that derives others. */
  #isLikelyChanged = false;

  constructor(options: RebuildOptions, workers: Workers, family: Family, table: Table, done: Work) {
    this.#options = options;
    this.#workers = workers;
    this.#family = family;
    this.#table = table;
    this.#done = done;
  }

  async run(): Promise<void> {
    const { lake, clock, account, signal, emit } = this.#options;
    const { pipeline } = this.#family;
    const began = clock.now();
    const planned = bundlesOf(lake, this.#family, account);
    const bytes = planned.reduce((sum, { main }) => sum + main.size, 0);
    emit({ event: 'files-planned', pipeline, files: planned.length, bytes });
    let before: Begun | undefined;
    try {
      for await (const checked of this.#checked()) {
        const begun = await this.#begin(checked);
        const written = before;
        before = begun;
        // While this one was derived the writer was at the one before.
        if (written !== undefined) await this.#finish(written);
      }
    } catch (error) {
      // What is whole by now isn't lost because another file can't be read.
      if (before !== undefined && !signal.aborted) await this.#finish(before);
      throw error;
    }
    if (before !== undefined) await this.#finish(before);
    this.#done.seconds = (clock.now() - began) / 1000;
  }

  /** Checks bundles ahead: two at once as long as there is a thread to compare the second one. */
  async *#checked(): AsyncGenerator<Checked> {
    const { signal } = this.#options;
    const { thread } = this.#workers;
    const ahead: Promise<Checked>[] = [];
    for (;;) {
      signal.throwIfAborted();
      while (ahead.length < (thread?.isOpen === true ? 2 : 1)) {
        const bundle = this.#next(ahead.length > 0);
        if (bundle === undefined) break;
        ahead.push(handled(this.#check(bundle)));
      }
      const first = ahead.shift();
      if (first === undefined) return;
      yield await first;
    }
  }

  /** Looked for anew each time: another run may put a file in the place of others that hasn't been checked. */
  #next(isBesideOthers: boolean): Bundle | undefined {
    const { lake, account, limits } = this.#options;
    const bundle = bundlesOf(lake, this.#family, account).find((candidate) => !this.#seen.has(keyOf(candidate)));
    // One large file at a time is enough to hold in memory.
    if (bundle === undefined || (isBesideOthers && pageBytes(bundle.main) > limits.rawBytes)) return undefined;
    this.#seen.add(keyOf(bundle));
    return bundle;
  }

  /** Throws LAKE_STORE where the file of events is missing or was changed. */
  async #check(bundle: Bundle): Promise<Checked> {
    const { lake, signal, limits } = this.#options;
    const workspace = ownFiles(this.#workers.workspace);
    const checked = await whileLive(lake, this.#family, [bundle], async () => {
      const file = await checkedSource(lake.store, lake.table(this.#family.main.name), bundle.main, workspace);
      const stored = await this.#storedEntries(bundle, workspace);
      if (stored === undefined || this.#isLikelyChanged) return { file, stored };
      const isLarge = pageBytes(bundle.main) > limits.rawBytes;
      const thread = isLarge ? undefined : this.#workers.thread;
      return { file, stored, unchanged: await compareSomewhere(thread, this.#table, file, stored, signal) };
    });
    return { bundle, workspace, ...checked };
  }

  /** The files of a bundle's entries; undefined where not all of them are in the lake as their commit says. */
  async #storedEntries(
    { derived, isWhole }: Bundle,
    workspace: Workspace,
  ): Promise<readonly ParquetSource[] | undefined> {
    if (!isWhole) return undefined;
    const { lake } = this.#options;
    const files: ParquetSource[] = [];
    for (const { add } of derived.filter(({ table }) => table === this.#table)) {
      try {
        files.push(await checkedSource(lake.store, lake.table(this.#table.name), add, workspace));
      } catch (error) {
        if (!(error instanceof DamagedFile)) throw error;
        // It is derived again, so it is no loss.
        return undefined;
      }
    }
    return files;
  }

  async #begin(checked: Checked): Promise<Begun> {
    const { lake, signal } = this.#options;
    const { writer, thread } = this.#workers;
    const { bundle, workspace, file, unchanged } = checked;
    if (unchanged !== undefined || file === undefined) return checked;
    const step = () => rederive(workspace, writer, this.#table, bundle.main, file, signal);
    const rederiving = await whileLive(lake, this.#family, [bundle], step);
    // The writer's thread has enough to do then.
    if (rederiving !== undefined) await thread?.close();
    // Its bytes aren't held any longer.
    return { ...checked, file: undefined, rederiving };
  }

  /** Commits what differs, and takes the bundle's files out of the workspace. */
  async #finish(begun: Begun): Promise<void> {
    const { lake, emit } = this.#options;
    const { bundle, workspace } = begun;
    const outcome = await this.#outcomeOf(begun);
    if (outcome === 'replaced') await lake.refresh();
    else {
      this.#isLikelyChanged = outcome === 'changed';
      const main = lake.table(this.#family.main.name);
      const live = main.snapshot.files.get(bundle.main.path);
      // It references other files of entries now, and these are what they should be.
      if (live !== undefined) this.#seen.add(keyOf({ main: live }));
      emit({
        ...{ event: 'entries-checked', pipeline: this.#family.pipeline, file: main.pathOf(bundle.main) },
        ...{ bytes: bundle.main.size, changed: outcome === 'changed' },
      });
    }
    await workspace.clear();
  }

  /** `replaced`: another run put a file in the place of this one meanwhile. */
  async #outcomeOf({ bundle, unchanged, stored, rederiving }: Begun): Promise<'unchanged' | 'changed' | 'replaced'> {
    if (unchanged !== undefined) {
      this.#count(unchanged);
      return 'unchanged';
    }
    if (rederiving === undefined) return 'replaced';
    const files = await rederiving.files;
    const isSame = stored !== undefined && files.sums.equals(await storedSums(this.#table, stored));
    if (!isSame && !(await commitEntries(this.#options, this.#family, this.#table, bundle, files, this.#done)))
      return 'replaced';
    this.#count(files);
    return isSame ? 'unchanged' : 'changed';
  }

  #count({ events, rows }: RowCounts): void {
    const counts = this.#done.rows;
    this.#done.slices++;
    for (const [{ name }, more] of [
      [this.#family.main, events],
      [this.#table, rows],
    ] as const)
      counts.set(name, (counts.get(name) ?? 0) + more);
  }
}

function keyOf({ main }: Pick<Bundle, 'main'>): string {
  return `${main.path} ${main.tags?.['derived'] ?? ''}`;
}

/** Commits the entries of a bundle in the place of the stored ones; false where another run replaced the bundle meanwhile. */
async function commitEntries(
  { lake, clock }: { lake: Lake; clock: Clock },
  family: Family,
  table: Table,
  bundle: Bundle,
  made: RederivedFiles,
  done: Work,
): Promise<boolean> {
  const { main } = bundle;
  const now = clock.now();
  const [net, units] = [JSON.stringify(made.net), JSON.stringify(loadKeysOf(main))];
  const files: NewFile[] = [];
  const bytes = await made.bytes();
  if (bytes !== undefined) {
    const content = contentOf(bytes);
    const { sha256 } = content;
    const stem = main.path.replace(/(-[0-9a-f]{16}(-\d+)?)?\.parquet$/, '');
    const added = { path: `${stem}-${sha256.slice(0, 16)}.parquet`, partitionValues: main.partitionValues, content };
    const tags = { ...sharedTags([main.tags ?? {}]), units, net };
    const add = addOf({ ...added, dataChange: true, rows: made.rows, stats: await made.stats(), tags }, now);
    files.push({ table, add, read: () => Promise.resolve(bytes) });
    // One that was damaged, and is made again to the byte, is put right where it is.
    const damaged = bundle.derived.find((file) => file.table === table && file.add.tags?.['sha256'] === sha256);
    if (damaged !== undefined) await lake.store.write(lake.table(table.name).pathOf(damaged.add), bytes);
  }
  const kept = (of: Table, add: Add) => () => checkedBytes(lake.store, lake.table(of.name), add);
  // Other derived tables of the pipeline stay as they are, and are named again.
  for (const other of bundle.derived) {
    if (other.table !== table) files.push({ ...other, read: kept(other.table, other.add) });
  }
  // The file itself stays; what it names changes.
  files.push({
    table: family.main,
    add: { ...main, dataChange: false, modificationTime: now, tags: { ...main.tags, net } },
    read: kept(family.main, main),
  });
  const { taken } = await commitTransaction(lake, clock, {
    operation: 'REBUILD',
    main: family.main,
    files,
    swaps: true,
    // The file itself stays under its own path: what it names is what is replaced.
    decide: replacing([bundle]),
  });
  if (!taken) return false;
  if (bytes !== undefined) {
    done.files++;
    done.bytes += bytes.length;
  }
  for (const { add } of bundle.derived) {
    done.replacedFiles++;
    done.replacedBytes += add.size;
  }
  return true;
}
