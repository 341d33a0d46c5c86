import { createHash } from 'node:crypto';
import type { Clock } from '../clock.js';
import type { Table } from '../columns/table.js';
import type { Tell } from '../events/run-event.js';
import { entries, groupEntries, orderEntries } from '../finances/tables.js';
import type { Add } from '../lake/actions.js';
import { exchange } from '../lake/exchange.js';
import { unitsOf } from '../lake/file-tags.js';
import type { Lake } from '../lake/lake.js';
import type { NewFile } from '../lake/written-files.js';
import { withWriter } from '../parquet/sized-writer.js';
import type { ParquetWriter } from '../parquet/writer.js';
import { bundlesOf, currentFiles, replacing, type Bundle } from './bundles.js';
import { checkedBytes, faultOf } from './checked-bytes.js';
import type { Family } from './families.js';
import { makeAgain, sameRows, type Made, type Making } from './made-again.js';
import { sharedTags } from './merged-tags.js';
import { newWork, type Work } from './work.js';
import { ownFiles, withWorkspace, type Limits, type Workspace } from './workspace.js';

/** Tables whose rows are made from the `raw` of a main table's rows. */
const entryTables: ReadonlySet<Table> = new Set([entries, groupEntries, orderEntries]);

/** How many bytes of pages a byte of a file of events stands for, about. */
const pageBytesPerByte = 4;

export interface RebuildOptions {
  readonly lake: Lake;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly families: readonly Family[];
  /** Undefined: every account. */
  readonly account: string | undefined;
  readonly limits: Limits;
  readonly tell: Tell;
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
  await withWorkspace(limits, (workspace) =>
    withWriter(limits.thread, signal, async (writer) => {
      let bytes = 0;
      for (const { family } of rebuilt) {
        for (const { main } of bundlesOf(lake, family, account)) bytes += main.size * pageBytesPerByte;
      }
      writer.expect(bytes);
      for (const { family, table } of rebuilt) {
        const done = newWork(family.pipeline);
        work.set(family, done);
        await rebuildFamily(options, { workspace, writer }, family, table, done);
      }
    }),
  );
}

/** Where new files are on their way. */
interface Places {
  readonly workspace: Workspace;
  readonly writer: ParquetWriter;
}

/** A bundle whose entries are made, and handed over to the writer. */
interface Begun {
  readonly bundle: Bundle;
  /** Holds its files alone. */
  readonly workspace: Workspace;
  /** Undefined where another run replaced the file meanwhile. */
  readonly making: Making | undefined;
}

async function rebuildFamily(
  options: RebuildOptions,
  { workspace, writer }: Places,
  family: Family,
  table: Table,
  done: Work,
): Promise<void> {
  const { lake, clock, account, signal, tell } = options;
  const began = clock.now();
  const planned = bundlesOf(lake, family, account);
  const bytes = planned.reduce((sum, { main }) => sum + main.size, 0);
  tell({ event: 'files-planned', pipeline: family.pipeline, files: planned.length, bytes });
  const seen = new Set<string>();
  const finish = async (begun: Begun): Promise<void> => {
    const isDone = await finishBundle(options, begun, family, table, done);
    const live = lake.table(family.main.name).snapshot.files.get(begun.bundle.main.path);
    // It names other files of entries now, and these are what they should be.
    if (isDone && live !== undefined) seen.add(keyOf({ main: live }));
    if (!isDone) await lake.refresh();
    await begun.workspace.clear();
  };
  let before: Begun | undefined;
  // Looked at anew each time: another run may put a file in the place of others that hasn't been gone through.
  for (;;) {
    const bundle = bundlesOf(lake, family, account).find((candidate) => !seen.has(keyOf(candidate)));
    if (bundle === undefined && before === undefined) break;
    signal.throwIfAborted();
    let begun: Begun | undefined;
    if (bundle !== undefined) {
      seen.add(keyOf(bundle));
      // While the writer is at the one before.
      try {
        begun = await beginBundle(options, { workspace: ownFiles(workspace), writer }, family, table, bundle);
      } catch (error) {
        if (before !== undefined) await finish(before);
        throw error;
      }
    }
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
  { workspace, writer }: Places,
  family: Family,
  table: Table,
  bundle: Bundle,
): Promise<Begun> {
  let making: Making | undefined;
  try {
    const file = await checkedBytes(lake.store, lake.table(family.main.name), bundle.main);
    making = await makeAgain(workspace, writer, table, bundle.main, file, signal);
  } catch (error) {
    await lake.refresh();
    if (isLive(lake, family, bundle)) throw error;
  }
  return { bundle, workspace, making };
}

/** Commits what is another now; false where another run replaced the file meanwhile. */
async function finishBundle(
  { lake, clock, tell }: RebuildOptions,
  { bundle, workspace, making }: Begun,
  family: Family,
  table: Table,
  done: Work,
): Promise<boolean> {
  if (making === undefined) return false;
  const told = (changed: boolean): void => {
    const file = lake.table(family.main.name).pathOf(bundle.main);
    tell({ event: 'entries-checked', pipeline: family.pipeline, file, bytes: bundle.main.size, changed });
  };
  const made = await making.made;
  const stored = await storedEntries(lake, workspace, table, bundle);
  if (stored.isWhole && (await sameRows(workspace, table, made, stored.paths))) {
    noteRows(done, family, table, made);
    told(false);
    return true;
  }
  if (!(await commitMade({ lake, clock }, family, table, bundle, made, done))) return false;
  noteRows(done, family, table, made);
  told(true);
  return true;
}

function isLive(lake: Lake, family: Family, bundle: Bundle): boolean {
  return currentFiles(lake.table(family.main.name).snapshot.files, [bundle]) !== undefined;
}

/** What of a bundle's entries is in the lake as its commit says. */
async function storedEntries(
  lake: Lake,
  { keep }: Workspace,
  table: Table,
  { derived, isWhole }: Bundle,
): Promise<{ paths: string[]; isWhole: boolean }> {
  const paths: string[] = [];
  let whole = isWhole;
  for (const file of derived.filter((of) => of.table === table)) {
    const bytes = await lake.store.read(lake.table(table.name).pathOf(file.add));
    // It is made anew from what it was made from, so one that is damaged is no loss.
    if (bytes === undefined || faultOf(file.add, bytes) !== undefined) whole = false;
    else paths.push(await keep(bytes));
  }
  return { paths, isWhole: whole };
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
  const [net, units] = [JSON.stringify(made.net), JSON.stringify(unitsOf(main))];
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
      tags: { ...sharedTags([main.tags ?? {}]), units, net, rows: String(made.rows), sha256 },
    };
    files.push({ table, add, bytes });
    // One that was damaged, and is made again to the byte, is put right where it is.
    const damaged = bundle.derived.find((file) => file.table === table && file.add.tags?.['sha256'] === sha256);
    if (damaged !== undefined) await lake.store.write(lake.table(table.name).pathOf(damaged.add), bytes);
  }
  // Other derived tables of the pipeline stay as they are, and are named again.
  for (const other of bundle.derived) if (other.table !== table) files.push({ ...other, bytes: new Uint8Array() });
  // The file itself stays; what it names changes.
  files.push({
    table: family.main,
    add: { ...main, dataChange: false, modificationTime: now, tags: { ...main.tags, net } },
    bytes: new Uint8Array(),
  });
  const { taken } = await exchange(lake, clock, {
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

function noteRows(done: Work, { main }: Family, table: Table, made: Made): void {
  done.slices++;
  done.rows.set(main.name, (done.rows.get(main.name) ?? 0) + made.events);
  done.rows.set(table.name, (done.rows.get(table.name) ?? 0) + made.rows);
}
