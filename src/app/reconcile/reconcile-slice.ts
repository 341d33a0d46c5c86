import { rm } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { spanIn, type LoadHole } from '../../lake/catalog/load-key.js';
import { DamagedFile, rowsOf, type DataFile } from '../../lake/delta/data-file.js';
import { Mutex } from '../../core/mutex.js';
import type { Clock } from '../../core/clock.js';
import { hasEvents, type Table } from '../../core/columns/table.js';
import type { LedgerlakeError } from '../../core/errors.js';
import type { Lake } from '../../lake/lake.js';
import type { NewFile } from '../../lake/commit-files.js';
import type { SliceCommit } from '../../lake/slices/slice-commit.js';
import type { Revision, Revisions } from '../../lake/slices/slice-writer.js';
import type { SliceReplacement } from '../../lake/slices/slice-replacement.js';
import { canSelectRows, loadKeyCondition } from '../../lake/files/load-key-rows.js';
import type { Workspace } from '../../lake/files/workspace.js';
import type { UncomparedSlices } from '../results.js';
import { otherAccountFailure, type SliceChange, type Emptied, type Findings, type KnownOrders } from './findings.js';
import {
  countDifferingRows,
  countReturnedOrders,
  countStored,
  findDiffering,
  type Differing,
  type States,
} from './differing-rows.js';
import { CheckedFiles, monthRows, sameRows, type MonthFiles } from '../../lake/files/month-files.js';
import { historyFiles, keepsHistory } from './event-history.js';
import { timestampLiteral } from '../../core/duckdb/literals.js';
import { uncovered } from '../../core/windows.js';
import { faultOf } from '../../lake/files/local-file.js';

/** Stored orders that a pipeline's slices must have before the share of returned ones is checked. */
const leastOrders = 5;
/** Share of the stored orders that an answer must have, or it is another account's: orders change late, but don't vanish. */
const leastReturned = 0.05;

/**
 * Compares slices that are read again with the lake, event by event, and keeps the differences in `event_history`; of custom pipelines
 * they are counted only.
 *
 * It refuses an empty answer for load keys with stored rows, so that an upstream without data doesn't empty the lake, a listing
 * that lacks stored settlements, and pages with holes that lack stored events. An answer with other orders than the lake's ends
 * the run. Where nothing differs, nothing is written. A damaged file of the lake can't be compared: it is replaced.
 */
export class EventRevisions implements Revisions {
  readonly #lake: Lake;
  readonly #clock: Clock;
  readonly #workspace: Workspace;
  readonly #files: CheckedFiles;
  /** The orders of all compared slices, by pipeline. */
  readonly #orders = new Map<string, KnownOrders>();
  #otherAccount: LedgerlakeError | undefined;
  readonly #findings = {
    changes: new Array<SliceChange>(),
    emptied: new Array<Emptied>(),
    uncompared: new Array<UncomparedSlices>(),
  };
  readonly #mutex = new Mutex();

  constructor(lake: Lake, clock: Clock, workspace: Workspace) {
    this.#lake = lake;
    this.#clock = clock;
    this.#workspace = workspace;
    this.#files = new CheckedFiles(lake.store, workspace);
  }

  /** The findings of the slices that are committed or refused. */
  get findings(): Findings {
    return this.#findings;
  }

  /** Compares one slice at a time: comparisons share a database. */
  compare(replacement: SliceReplacement): Promise<Revision> {
    return this.#mutex.run(async () => {
      await this.#files.trim();
      if (this.#otherAccount !== undefined) throw this.#otherAccount;
      try {
        return await this.#byFiles(replacement);
      } catch (error) {
        // A store that fails, or a query without memory, says nothing of the rows: they stay.
        if (!(error instanceof DamagedFile)) throw error;
        await this.#lake.refresh();
        if (!replacement.isCurrent(this.#lake.snapshot)) throw error;
        // The slice replaces the file, so only the fault is reported, without the remedy of a damaged file.
        return this.#byCommits(replacement, error.found);
      }
    });
  }

  /**
   * Compares a slice. The first case that applies decides. With `acceptEmpty` nothing is refused, and no run fails for its orders:
   *
   * | compared by  | case                                          | outcome                                 |
   * | ------------ | --------------------------------------------- | --------------------------------------- |
   * | `#byFiles`   | nothing was loaded before                     | replaced                                |
   * |              | the rows of its load keys can't be selected   | replaced, without a comparison          |
   * |              | the files are equal, and `mayStay`            | same; damaged files are written again   |
   * | `#byRows`    | the answer is empty, the lake has rows        | refused                                 |
   * |              | custom rows that are equal, and `mayStay`     | same                                    |
   * |              | other custom rows                             | replaced, differences are counted       |
   * | `#byEvents`  | the answers have hardly any stored orders     | the run fails                           |
   * |              | a listing, or pages with holes, lack rows     | refused                                 |
   * |              | the rows are equal, and `mayStay`             | same                                    |
   * |              | all others                                    | replaced, differences go to the history |
   * | `#byCommits` | a stored file is damaged, the answer is empty | refused                                 |
   * |              | a stored file is damaged                      | replaced, the damage is reported        |
   */
  async #byFiles(replacement: SliceReplacement): Promise<Revision> {
    const { slice, stored, known } = replacement;
    const { pipeline, loadKeys, main } = slice;
    if (known.length === 0) return this.#replaced([]);
    if (!canSelectRows(main, known)) return this.#replaced(undefined);
    if (mayStay(replacement) && sameFiles(slice, stored)) {
      const rows = rowsOf(filesIn(stored, main));
      this.#addOrders(pipeline, { stored: rows, returned: rows });
      const repaired = await repairFiles(this.#lake, slice, stored);
      this.#note({ uncompared: repaired.map((reason) => ({ pipeline, load_keys: loadKeys, reason })) });
      return 'same';
    }
    return withSliceFiles(this.#workspace, slice, async (files) =>
      this.#byRows(replacement, await this.#states(replacement, files)),
    );
  }

  /** Compares the stored rows with those that were read now. */
  async #byRows(replacement: SliceReplacement, states: SliceStates): Promise<Revision> {
    const { slice, known } = replacement;
    const { main, derived, compared } = states;
    const { database } = this.#workspace;
    const stored = await countStored(database, compared);
    if (stored.rows > 0 && hasNoRows(slice) && slice.acceptEmpty !== true)
      return this.#refused(lackOf(replacement, stored.rows, { vanished: stored.rows, appeared: 0 }));
    if (compared.table.row !== undefined) return this.#byEvents(replacement, states, stored);
    if (await this.#isSame(replacement, states)) return 'same';
    const found = await countDifferingRows(database, [main, ...derived], knownWindowsCondition(slice, known));
    const change = { pipeline: slice.pipeline, load_keys: known, ...found };
    return this.#replaced(undefined, { changes: found.rows > 0 ? [change] : [] });
  }

  /** Compares rows with an identity: events, settlements and their lines. */
  async #byEvents(
    replacement: SliceReplacement,
    states: SliceStates,
    { rows, orders }: { readonly rows: number; readonly orders: number },
  ): Promise<Revision> {
    const { slice, known } = replacement;
    const { derived, compared } = states;
    const { database } = this.#workspace;
    const isEmptied = rows > 0 && hasNoRows(slice);
    const isKnown = knownRowsCondition(compared.table, slice, known);
    const found = await findDiffering(database, { ...compared, isKnown, grows: slice.reread !== 'complete' });
    if (!isEmptied) {
      const returned = found.vanished === 0 ? orders : await countReturnedOrders(database, compared);
      this.#refuseOtherAccount(slice, { stored: orders, returned });
    }
    // The service omits settlements from a listing, different ones each time, and the history doesn't keep them. An event that
    // can't be read now is in the service still.
    const isDoubtful = hasHoles(slice) || !keepsHistory(compared.table);
    if (found.vanished > 0 && isDoubtful && slice.acceptEmpty !== true)
      return this.#refused(lackOf(replacement, rows, found));
    const isChanged = found.rows + found.released + found.grown > 0;
    if (!isChanged && (await this.#isSame(replacement, states))) return 'same';
    const entries = derived.find(({ table }) => table.row === 'entry');
    const now = this.#clock.now();
    const hasHistory = (isChanged || found.moved > 0) && keepsHistory(compared.table);
    const files = hasHistory ? await historyFiles(this.#workspace, compared.table, slice, entries, now) : [];
    const of = { pipeline: slice.pipeline, load_keys: known };
    return this.#replaced(keepsHistory(compared.table) ? files : undefined, {
      emptied: isEmptied ? [{ ...of, rows, lacking: rows, accepted: true }] : [],
      changes: isChanged ? [{ ...of, ...found }] : [],
    });
  }

  /** Compares a slice whose stored rows can't be read, by what the commits say of them. */
  #byCommits({ slice, known, stored }: SliceReplacement, reason: string): Revision {
    const { pipeline, loadKeys, main, acceptEmpty: accepted = false } = slice;
    const mains = filesIn(stored, main);
    const rows = rowsOf(mains);
    const isShared = mains.some((file) => file.loadKeys.some((key) => !known.includes(key)));
    const lack = { rows, lacking: rows, ...(isShared && { atMost: true as const }), accepted };
    const emptied = { pipeline, load_keys: loadKeys, ...lack };
    // A load key without rows has no file.
    const isEmptied = mains.length > 0 && hasNoRows(slice);
    if (isEmptied && !accepted) return this.#refused(emptied);
    return this.#replaced(undefined, {
      emptied: isEmptied ? [emptied] : [],
      uncompared: [{ pipeline, load_keys: loadKeys, reason }],
    });
  }

  #refused(emptied: Emptied): Revision {
    this.#note({ emptied: [emptied] });
    return 'refused';
  }

  #replaced(history: readonly NewFile[] | undefined, found: Partial<Findings> = {}): Revision {
    const committed = (): void => {
      this.#note(found);
    };
    return { history, committed };
  }

  #note({ changes = [], emptied = [], uncompared = [] }: Partial<Findings>): void {
    this.#findings.changes.push(...changes);
    this.#findings.emptied.push(...emptied);
    this.#findings.uncompared.push(...uncompared);
  }

  /**
   * Checks the orders of all compared slices of the pipeline, because one slice may be too small to decide.
   *
   * @throws LedgerlakeError UPSTREAM_ACCOUNT; every later comparison throws it too
   */
  #refuseOtherAccount(slice: SliceCommit, orders: KnownOrders): void {
    const all = this.#addOrders(slice.pipeline, orders);
    const isOther = all.stored >= leastOrders && all.returned < all.stored * leastReturned;
    if (!isOther || slice.acceptEmpty === true) return;
    this.#otherAccount = otherAccountFailure(slice, all);
    throw this.#otherAccount;
  }

  #addOrders(pipeline: string, { stored, returned }: KnownOrders): KnownOrders {
    const before = this.#orders.get(pipeline) ?? { stored: 0, returned: 0 };
    const all = { stored: before.stored + stored, returned: before.returned + returned };
    this.#orders.set(pipeline, all);
    return all;
  }

  async #states(
    { slice, stored, known }: SliceReplacement,
    files: ReadonlyMap<Table, readonly MonthFiles[]>,
  ): Promise<SliceStates> {
    const states = async (table: Table, condition: string): Promise<States> => ({
      table,
      stored: monthRows(table, await this.#files.of(filesIn(stored, table)), condition),
      incoming: monthRows(table, files.get(table) ?? [], 'true'),
    });
    const mainStates = await states(slice.main, loadKeyCondition(known));
    const derived: States[] = [];
    for (const table of slice.derived) {
      const isEntries = table.row === 'entry';
      const condition = isEntries
        ? `event_id IN (SELECT event_id FROM (${mainStates.stored}))`
        : loadKeyCondition(known);
      derived.push(await states(table, condition));
    }
    return { main: mainStates, derived, compared: derived.find(({ table }) => table.row === 'line') ?? mainStates };
  }

  /** Whether nothing needs to be written. */
  async #isSame(replacement: SliceReplacement, { main, derived }: SliceStates): Promise<boolean> {
    if (!mayStay(replacement)) return false;
    for (const { table, stored, incoming } of [main, ...derived]) {
      if (!(await sameRows(this.#workspace.database, table, stored, incoming))) return false;
    }
    return true;
  }
}

interface SliceStates {
  readonly main: States;
  readonly derived: readonly States[];
  /** That of the main table; of settlement reports that of their lines. */
  readonly compared: States;
}

/** In SQL: whether an incoming row is of a load key that was read before; undefined where all are. */
function knownRowsCondition(main: Table, { loadKeys }: SliceCommit, known: readonly string[]): string | undefined {
  if (loadKeys.every((loadKey) => known.includes(loadKey))) return undefined;
  const instant = hasEvents(main) ? 'effective_at' : 'started_at';
  const retired = known
    .filter((loadKey) => !loadKeys.includes(loadKey))
    .flatMap((loadKey) => spanIn('window', loadKey) ?? [])
    .map(({ start, end }) => `(${instant} >= ${timestampLiteral(start)} AND ${instant} < ${timestampLiteral(end)})`);
  const current = loadKeyCondition(known.filter((loadKey) => loadKeys.includes(loadKey)));
  return [current, ...retired].join(' OR ');
}

/** In SQL: whether an incoming row is of a window that was read before as a whole, so that a new row is a change. */
function knownWindowsCondition({ loadKeys }: SliceCommit, known: readonly string[]): string {
  const windows = known.flatMap((loadKey) => spanIn('window', loadKey) ?? []);
  return loadKeyCondition(
    loadKeys.filter((loadKey) => {
      const window = spanIn('window', loadKey);
      return window !== undefined && uncovered(window, windows).length === 0;
    }),
  );
}

/** Whether nothing is committed where the rows are equal: the load keys are loaded already, from the same source and with the same holes. */
function mayStay({ slice, snapshot, known }: SliceReplacement): boolean {
  const { account, pipeline, loadKeys, holes, reread, origin = 'api' } = slice;
  const keys = snapshot.keysOf(account, pipeline);
  const hasSameHoles = loadKeys.every((key) =>
    isDeepStrictEqual(placesOf(holes?.get(key)), placesOf(keys.get(key)?.holes)),
  );
  // What was imported counts as loaded from the API once that has answered.
  const isImported = origin === 'api' && known.some((key) => keys.get(key)?.origin === 'import');
  return hasSameHoles && isDeepStrictEqual(known, loadKeys) && !isImported && reread !== 'closed';
}

/** Holes without the ids of their requests: each request has another one. */
function placesOf(holes: readonly LoadHole[] = []): readonly LoadHole[] {
  return holes.map((hole) => ('page' in hole ? { page: hole.page, byte: hole.byte } : hole));
}

/** Writes a slice's files to the local disk, calls `use` with them by table, and removes them. */
async function withSliceFiles<T>(
  { writeLocal }: Workspace,
  { files }: SliceCommit,
  use: (files: ReadonlyMap<Table, readonly MonthFiles[]>) => Promise<T>,
): Promise<T> {
  const tables = new Map<Table, MonthFiles[]>();
  try {
    for (const { table, month, read } of files) {
      tables.set(table, [...(tables.get(table) ?? []), { month, paths: [await writeLocal(await read())] }]);
    }
    return await use(tables);
  } finally {
    const paths = [...tables.values()].flat().flatMap((each) => each.paths);
    for (const path of paths) await rm(path, { force: true });
  }
}

function filesIn(files: readonly DataFile[], { name }: Table): readonly DataFile[] {
  return files.filter(({ table }) => table === name);
}

/** Whether the slice's files equal the stored ones byte for byte. */
function sameFiles(slice: SliceCommit, stored: readonly DataFile[]): boolean {
  const key = (table: string, sha256 = '') => `${table} ${sha256}`;
  const inLake = stored.map(({ table, sha256 }) => key(table, sha256));
  const incoming = slice.files.map(({ table, content }) => key(table.name, content.sha256));
  return inLake.toSorted().join('\n') === incoming.toSorted().join('\n');
}

function hasNoRows({ files, main }: SliceCommit): boolean {
  return !files.some(({ table }) => table === main);
}

function hasHoles({ holes }: SliceCommit): boolean {
  return holes !== undefined && holes.size > 0;
}

/** The finding of an answer that lacks some of the stored rows, and is refused. */
function lackOf(
  { slice, known }: SliceReplacement,
  rows: number,
  { vanished, appeared }: Pick<Differing, 'vanished' | 'appeared'>,
): Emptied {
  return {
    pipeline: slice.pipeline,
    load_keys: known,
    rows,
    lacking: vanished,
    ...(vanished === rows && appeared > 0 && { others: appeared }),
    ...(hasHoles(slice) && { holes: true }),
    accepted: false,
  };
}

/**
 * Rewrites files that are missing or damaged from a slice with the same content, so that they match the log again.
 *
 * @returns the fault of each rewritten file
 * @throws LedgerlakeError LAKE_STORE
 */
async function repairFiles(lake: Lake, slice: SliceCommit, stored: readonly DataFile[]): Promise<string[]> {
  const incoming = new Map(slice.files.map((one) => [one.content.sha256, one]));
  const repaired: string[] = [];
  for (const file of stored) {
    const path = file.lakePath;
    const fault = faultOf(file, await lake.store.read(path));
    const same = incoming.get(file.sha256 ?? '');
    if (fault === undefined || same === undefined) continue;
    await lake.store.write(path, await same.read());
    repaired.push(`expected ${lake.store.address(path)} as its commit has it, ${fault}; it was written again`);
  }
  return repaired;
}
