import { createHash } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import type { Table } from '../../core/columns/table.js';
import type { Emit } from '../../core/events/run-event.js';
import { entries, groupEntries, orderEntries } from '../../sources/finances/model/tables.js';
import type { Add } from '../../lake/delta/actions.js';
import { commitTransaction } from '../../lake/transaction/transaction.js';
import { loadKeysOf } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';
import type { NewFile } from '../../lake/transaction/written-files.js';
import { withWriter, type SizedWriter } from '../../core/parquet/sized-writer.js';
import { bundlesOf, replacing, type Bundle } from './bundles.js';
import { checkBundle, whileLive, type Checked } from './checked-bundle.js';
import { checkedBytes } from '../../lake/files/checked-file.js';
import type { Family } from '../../lake/files/families.js';
import {
  handled,
  defaultLimits,
  ownFiles,
  withWorkspace,
  type Limits,
  type Workspace,
} from '../../lake/files/workspace.js';
import { makeAgain, pageBytes, type Made, type Making } from './made-again.js';
import { sharedTags } from '../../lake/files/merged-tags.js';
import { sameRows } from './same-rows.js';
import type { RowCounts } from './unchanged-entries.js';
import { UnchangedThread } from './unchanged-thread.js';
import { newWork, type Work } from './work.js';

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
 * Makes the entries of every committed file of events again from `raw`, and commits those that differ from what is there,
 * file by file. Where nothing differs nothing is written.
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
      const thread = bytes < limits.thread.from ? undefined : new UnchangedThread(limits.unchangedScript);
      try {
        for (const { family, table } of rebuilt) {
          const done = newWork(family.pipeline);
          work.set(family, done);
          await rebuildFamily(options, { workspace, writer, thread }, family, table, done);
        }
      } finally {
        await thread?.close();
      }
    }),
  );
}

/** What works on bundles. */
interface Workers {
  readonly workspace: Workspace;
  readonly writer: SizedWriter;
  /** Helps to find out what has changed; undefined where there is too little. */
  readonly thread: UnchangedThread | undefined;
}

/** A bundle whose entries are what they should be, or are made anew and handed over to the writer. */
interface Begun extends Omit<Checked, 'file'> {
  /** Undefined where nothing changed, or where another run replaced the file meanwhile. */
  readonly making?: Making | undefined;
}

async function rebuildFamily(
  options: RebuildOptions,
  { workspace, writer, thread }: Workers,
  family: Family,
  table: Table,
  done: Work,
): Promise<void> {
  const { lake, clock, account, signal, emit, limits } = options;
  const began = clock.now();
  const planned = bundlesOf(lake, family, account);
  const bytes = planned.reduce((sum, { main }) => sum + main.size, 0);
  emit({ event: 'files-planned', pipeline: family.pipeline, files: planned.length, bytes });
  const seen = new Set<string>();
  // Where one file's entries are others now, most files' are: it is this version that makes others.
  let isLikelyChanged = false;
  const finish = async (begun: Begun): Promise<void> => {
    const outcome = await finishBundle(options, begun, family, table, done);
    const isDone = outcome !== 'replaced';
    if (isDone) isLikelyChanged = outcome === 'changed';
    const live = lake.table(family.main.name).snapshot.files.get(begun.bundle.main.path);
    // It names other files of entries now, and these are what they should be.
    if (isDone && live !== undefined) seen.add(keyOf({ main: live }));
    if (!isDone) await lake.refresh();
    await begun.workspace.clear();
  };
  const ahead: Promise<Checked>[] = [];
  // Looked at anew each time: another run may put a file in the place of others that hasn't been gone through.
  const next = (): Bundle | undefined => {
    const bundle = bundlesOf(lake, family, account).find((candidate) => !seen.has(keyOf(candidate)));
    // One large file at a time is enough to hold in memory.
    const isLarge = bundle !== undefined && pageBytes(bundle.main) > limits.rawBytes;
    if (bundle === undefined || (isLarge && ahead.length > 0)) return undefined;
    seen.add(keyOf(bundle));
    return bundle;
  };
  let before: Begun | undefined;
  for (;;) {
    signal.throwIfAborted();
    while (ahead.length < (thread?.isOpen === true ? 2 : 1)) {
      const bundle = next();
      if (bundle === undefined) break;
      ahead.push(
        handled(checkBundle(options, ownFiles(workspace), { thread, isLikelyChanged }, family, table, bundle)),
      );
    }
    const first = ahead.shift();
    if (first === undefined && before === undefined) break;
    let begun: Begun | undefined;
    if (first !== undefined) {
      // While the writer is at the one before.
      try {
        begun = await beginBundle(options, writer, family, table, await first);
      } catch (error) {
        if (before !== undefined) await finish(before);
        throw error;
      }
    }
    // The writer's thread has enough to do then.
    if (begun?.making !== undefined) await thread?.close();
    if (before !== undefined) await finish(before);
    before = begun;
  }
  done.seconds = (clock.now() - began) / 1000;
}

function keyOf({ main }: Pick<Bundle, 'main'>): string {
  return `${main.path} ${main.tags?.['derived'] ?? ''}`;
}

async function beginBundle(
  { lake, signal }: RebuildOptions,
  writer: SizedWriter,
  family: Family,
  table: Table,
  { file, ...checked }: Checked,
): Promise<Begun> {
  const { bundle, workspace, unchanged } = checked;
  if (unchanged !== undefined || file === undefined) return checked;
  const make = () => makeAgain(workspace, writer, table, bundle.main, file, signal);
  return { ...checked, making: await whileLive(lake, family, bundle, make) };
}

/** Commits what is another now. `replaced`: another run put a file in the place of this one meanwhile. */
async function finishBundle(
  { lake, clock, emit }: RebuildOptions,
  { bundle, workspace, unchanged, stored, making }: Begun,
  family: Family,
  table: Table,
  done: Work,
): Promise<'unchanged' | 'changed' | 'replaced'> {
  const told = (changed: boolean): void => {
    const file = lake.table(family.main.name).pathOf(bundle.main);
    emit({ event: 'entries-checked', pipeline: family.pipeline, file, bytes: bundle.main.size, changed });
  };
  if (unchanged !== undefined) {
    noteRows(done, family, table, unchanged);
    told(false);
    return 'unchanged';
  }
  if (making === undefined) return 'replaced';
  const made = await making.made;
  // The same rows in another order.
  if (stored !== undefined && (await sameRows(workspace, table, made, stored))) {
    noteRows(done, family, table, made);
    told(false);
    return 'unchanged';
  }
  if (!(await commitMade({ lake, clock }, family, table, bundle, made, done))) return 'replaced';
  noteRows(done, family, table, made);
  told(true);
  return 'changed';
}

async function commitMade(
  { lake, clock }: { lake: Lake; clock: Clock },
  family: Family,
  table: Table,
  bundle: Bundle,
  made: Made,
  done: Work,
): Promise<boolean> {
  const { main } = bundle;
  const now = clock.now();
  const [net, loadKeys] = [JSON.stringify(made.net), JSON.stringify(loadKeysOf(main))];
  const files: NewFile[] = [];
  const bytes = await made.bytes();
  if (bytes !== undefined) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const add: Add = {
      path: `${main.path.replace(/(-[0-9a-f]{16}(-\d+)?)?\.parquet$/, '')}-${sha256.slice(0, 16)}.parquet`,
      partitionValues: main.partitionValues,
      size: bytes.length,
      modificationTime: now,
      dataChange: true,
      stats: await made.stats(),
      tags: { ...sharedTags([main.tags ?? {}]), units: loadKeys, net, rows: String(made.rows), sha256 },
    };
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

function noteRows(done: Work, { main }: Family, table: Table, made: RowCounts): void {
  done.slices++;
  done.rows.set(main.name, (done.rows.get(main.name) ?? 0) + made.events);
  done.rows.set(table.name, (done.rows.get(table.name) ?? 0) + made.rows);
}
