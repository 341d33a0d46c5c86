import { Mutex } from '../../core/mutex.js';
import type { Clock } from '../../core/clock.js';
import type { Table } from '../../core/columns/table.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Add } from '../../lake/delta/actions.js';
import { DamagedFile, contentOf } from '../../lake/delta/file-tags.js';
import type {
  SliceCommit,
  SliceFile,
  ComparedLake,
  Revision,
  Revisions,
  RevisionToCommit,
} from '../../lake/transaction/slice-commit.js';
import { filesToSplit, replacedKeys, loadVersion } from '../../lake/loads/load-keys.js';
import { rowsInLog } from '../../lake/files/new-file.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import { canSplitRows, loadKeyCondition } from '../../lake/files/load-key-rows.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { readWindow } from '../../engine/slicing/window-slices.js';
import {
  otherAccountFailure,
  type Change,
  type Emptied,
  type Findings,
  type KnownOrders,
  type Uncompared,
} from './findings.js';
import { findDiffering, findKnownOrders, rowKey, sameRows } from './differing-rows.js';
import {
  CheckedFiles,
  replacedAdds,
  selectRows,
  withSliceFiles,
  type MonthFiles,
} from '../../lake/files/month-files.js';
import { historyFiles, keepsHistory } from './event-history.js';
import { timestampLiteral } from '../../core/duckdb/literals.js';
import { faultOf } from '../../lake/files/checked-file.js';

interface RevisionOptions {
  readonly clock: Clock;
  /** Takes what came back empty for what it is. */
  readonly acceptEmpty: boolean;
}

/** Orders, over all that a run has read again of a pipeline, of which so few may come back … */
const leastOrders = 5;
/** … before the answer is taken for another account's: orders change, come and are paid late, but they don't go. */
const leastReturned = 0.05;

/** Attempts to compare a slice before it gives up, where other runs change its files each time. */
const mostAttempts = 5;

/**
 * Compares what is read again with what the lake holds, event by event, and keeps the difference in `event_history`.
 *
 * What held rows and comes back without any is refused, so that an upstream that answers with nothing empties no lake; so is
 * a listing that lacks settlements which the lake holds. Where other orders come than the lake holds, the run ends.
 * Where nothing differs nothing is written. A file of the lake's own that is damaged can't be compared: it is replaced.
 */
export class EventRevisions implements Revisions {
  readonly #workspace: Workspace;
  readonly #options: RevisionOptions;
  readonly #files: CheckedFiles;
  /** The orders of what was compared so far, by pipeline. */
  readonly #orders = new Map<string, KnownOrders>();
  #otherAccount: LedgerlakeError | undefined;
  readonly #findings = {
    changes: new Array<Change>(),
    emptied: new Array<Emptied>(),
    uncompared: new Array<Uncompared>(),
  };
  readonly #mutex = new Mutex();

  constructor(workspace: Workspace, options: RevisionOptions) {
    this.#workspace = workspace;
    this.#options = options;
    this.#files = new CheckedFiles(workspace);
  }

  /** What the slices compared so far came to, as far as they are committed or were refused. */
  get findings(): Findings {
    return this.#findings;
  }

  /** One slice at a time: they share a database. */
  compare(lake: ComparedLake, slice: SliceCommit): Promise<Revision> {
    return this.#mutex.run(() => this.#compare(lake, slice));
  }

  async #compare(lake: ComparedLake, slice: SliceCommit): Promise<Revision> {
    if (this.#otherAccount !== undefined) throw this.#otherAccount;
    const main = slice.tables.at(-1);
    if (main === undefined) throw new Error(`the pipeline ${slice.pipeline} has no table`);
    const storedPaths = () =>
      replacedAdds(lake, main, slice)
        .mains.map(({ path }) => path)
        .join();
    for (let attempt = 1; ; attempt++) {
      const before = storedPaths();
      try {
        return await this.#verdict(lake, main, slice);
      } catch (error) {
        const isUnreadable = error instanceof LedgerlakeError && ['LAKE_STORE', 'SQL'].includes(error.code);
        if (!isUnreadable) throw error;
        // Another run may have merged or parted the files meanwhile; what is where it should be is damaged.
        await lake.refresh();
        if (storedPaths() !== before && attempt < mostAttempts) continue;
        // It is replaced: what to do about a damaged file, and that nothing was touched, would be wrong here.
        const reason = error instanceof DamagedFile ? error.found : error.message;
        return this.#unread(lake, main, slice, reason);
      }
    }
  }

  /** The verdict on a slice whose rows in the lake can't be read: it goes by the log alone. */
  async #unread(lake: ComparedLake, main: Table, slice: SliceCommit, reason: string): Promise<Revision> {
    const { pipeline, loadKeys } = slice;
    const { mains } = replacedAdds(lake, main, slice);
    // A load key without rows has no file.
    const isEmptied = mains.length > 0 && !slice.files.some(({ table }) => table === main);
    const rows = rowsInLog(mains);
    const isShared = filesToSplit(lake.table(main.name).snapshot, slice).length > 0;
    const emptied = { pipeline, units: loadKeys, rows, lacking: rows, ...(isShared && { atMost: true as const }) };
    if (isEmptied && !this.#options.acceptEmpty) {
      this.#findings.emptied.push({ ...emptied, accepted: false });
      return { verdict: 'refused' };
    }
    // A commit leaves a file alone that the log has with the same content.
    await repairFiles(lake, main, slice);
    return revision(lake, main, slice, [], () => {
      if (isEmptied) this.#findings.emptied.push({ ...emptied, accepted: true });
      this.#findings.uncompared.push({ pipeline, units: loadKeys, reason });
    });
  }

  async #verdict(lake: ComparedLake, main: Table, slice: SliceCommit): Promise<Revision> {
    const { pipeline, loadKeys } = slice;
    const { snapshot } = lake.table(main.name);
    const isKnown = (loadKey: string) => loadVersion(snapshot, pipeline, slice.account, loadKey) > 0;
    const known = replacedKeys(slice).filter(isKnown);
    const derived = slice.tables.filter((table) => table !== main);
    if (known.length === 0 || !canSplitRows(main, derived, known)) return revision(lake, main, slice);

    const mayStay = loadKeys.every(isKnown) && known.length === loadKeys.length && slice.noted !== true;
    const isMixed = filesToSplit(snapshot, slice).length > 0;
    if (mayStay && !isMixed && sameFiles(lake, main, slice)) {
      const rows = rowsInLog(replacedAdds(lake, main, slice).mains);
      this.#addOrders(pipeline, { stored: rows, returned: rows });
      for (const reason of await repairFiles(lake, main, slice)) {
        this.#findings.uncompared.push({ pipeline, units: slice.loadKeys, reason });
      }
      return { verdict: 'same' };
    }
    return withSliceFiles(this.#workspace, slice, async (files) => {
      const states = await this.#states(lake, main, slice, known, files);
      return this.#compareStates(lake, slice, states, { known, mayStay });
    });
  }

  /** The verdict on a slice by its rows: as the lake holds them, and as they were read. */
  async #compareStates(
    lake: ComparedLake,
    slice: SliceCommit,
    { mains, derived }: SliceStates,
    { known, mayStay }: { readonly known: readonly string[]; readonly mayStay: boolean },
  ): Promise<Revision> {
    const { database } = this.#workspace;
    const { table: main, stored, incoming } = mains;
    const [counted] = await database.rows(`SELECT count(*) AS rows FROM (${stored})`);
    const storedRows = Number(counted?.['rows']);
    const answer = { pipeline: slice.pipeline, units: known, rows: storedRows };
    const isEmptied = storedRows > 0 && !slice.files.some(({ table }) => table === main);
    const refuse = (lacking: number, appeared = 0): Revision => {
      const others = lacking === storedRows && appeared > 0 ? { others: appeared } : {};
      this.#findings.emptied.push({ ...answer, lacking, ...others, accepted: false });
      return { verdict: 'refused' };
    };
    if (isEmptied && !this.#options.acceptEmpty) return refuse(storedRows);
    const maySkip = async () => mayStay && (await this.#isSame([mains, ...derived]));
    if (rowKey(main) === undefined) return (await maySkip()) ? { verdict: 'same' } : revision(lake, main, slice);
    if (!isEmptied) this.#refuseOtherAccount(slice, await findKnownOrders(database, { main, stored, incoming }));
    const isKnown = knownRowsCondition(main, slice, known);
    const found = await findDiffering(database, { main, stored, incoming, isKnown });
    // The service is known to leave settlements out of a listing, other ones each time; and nothing else would keep them.
    if (found.vanished > 0 && !keepsHistory(main) && !this.#options.acceptEmpty)
      return refuse(found.vanished, found.appeared);
    const isChanged = found.vanished + found.appeared + found.differ > 0;
    if (!isChanged && (await maySkip())) return { verdict: 'same' };
    const entries = derived.find(({ table }) => hasColumn(table, 'entry'));
    const now = this.#options.clock.now();
    const history =
      isChanged && keepsHistory(main) ? await historyFiles(this.#workspace, main, slice, entries, now) : [];
    return revision(lake, main, slice, history, () => {
      if (isEmptied) this.#findings.emptied.push({ ...answer, lacking: storedRows, accepted: true });
      if (isChanged) this.#findings.changes.push({ pipeline: slice.pipeline, units: known, ...found });
    });
  }

  /**
   * One slice may be too small to decide: all slices of the pipeline that were compared count.
   *
   * @throws LedgerlakeError UPSTREAM_ACCOUNT, from then on for every slice
   */
  #refuseOtherAccount(slice: SliceCommit, orders: KnownOrders): void {
    const all = this.#addOrders(slice.pipeline, orders);
    const isOther = all.stored >= leastOrders && all.returned < all.stored * leastReturned;
    if (!isOther || this.#options.acceptEmpty) return;
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
    lake: ComparedLake,
    main: Table,
    slice: SliceCommit,
    known: readonly string[],
    files: ReadonlyMap<Table, readonly MonthFiles[]>,
  ): Promise<SliceStates> {
    const { database } = this.#workspace;
    const adds = replacedAdds(lake, main, slice);
    const states = async (table: Table, stored: readonly Add[], condition: string): Promise<TableStates> => ({
      table,
      stored: await selectRows(database, table, await this.#files.of(lake, table, stored), condition),
      incoming: await selectRows(database, table, files.get(table) ?? [], 'true'),
    });
    const mains = await states(main, adds.mains, loadKeyCondition(known));
    const derived: TableStates[] = [];
    for (const table of slice.tables) {
      const isLines = table.linesOf !== undefined;
      if (table === main || !(isLines || hasColumn(table, 'event_id'))) continue;
      const condition = isLines ? loadKeyCondition(known) : `event_id IN (SELECT event_id FROM (${mains.stored}))`;
      derived.push(await states(table, adds.derived.get(table) ?? [], condition));
    }
    return { mains, derived };
  }

  async #isSame(states: readonly TableStates[]): Promise<boolean> {
    for (const { table, stored, incoming } of states) {
      if (!(await sameRows(this.#workspace.database, table, stored, incoming))) return false;
    }
    return true;
  }
}

/** Two states of a table's rows, each in SQL. */
interface TableStates {
  readonly table: Table;
  readonly stored: string;
  readonly incoming: string;
}

interface SliceStates {
  readonly mains: TableStates;
  readonly derived: readonly TableStates[];
}

/** In SQL: whether a row that was read now has a load key that was read before. */
function knownRowsCondition(main: Table, { loadKeys }: SliceCommit, known: readonly string[]): string {
  const instant = hasColumn(main, 'effective_at') ? 'effective_at' : 'started_at';
  const retired = known
    .filter((loadKey) => !loadKeys.includes(loadKey))
    .flatMap((loadKey) => readWindow(loadKey) ?? [])
    .map(({ start, end }) => `(${instant} >= ${timestampLiteral(start)} AND ${instant} < ${timestampLiteral(end)})`);
  const current = loadKeyCondition(known.filter((loadKey) => loadKeys.includes(loadKey)));
  return [current, ...retired].join(' OR ');
}

/** Whether the slice's files are those that the lake holds of it, byte for byte. */
function sameFiles(lake: ComparedLake, main: Table, slice: SliceCommit): boolean {
  const { mains, derived } = replacedAdds(lake, main, slice);
  const key = (table: Table, sha256 = '') => `${table.name} ${sha256}`;
  const stored = [[main, mains] as const, ...derived].flatMap(([table, adds]) =>
    adds.map(({ tags }) => key(table, tags?.['sha256'])),
  );
  const incoming = slice.files.map(({ table, bytes }) => key(table, contentOf(bytes).sha256));
  return stored.toSorted().join('\n') === incoming.toSorted().join('\n');
}

/** The slice is to replace what is there, unless another run has done so since. */
function revision(
  lake: ComparedLake,
  main: Table,
  slice: SliceCommit,
  files: readonly SliceFile[] = [],
  committed: () => void = () => undefined,
): RevisionToCommit {
  const { pipeline, account, loadKeys } = slice;
  const { snapshot } = lake.table(main.name);
  const versions = new Map(
    replacedKeys(slice).map((loadKey) => [loadKey, loadVersion(snapshot, pipeline, account, loadKey)] as const),
  );
  // It grows with each commit of these load keys, so that no two commits of them give their files the same name.
  const times = loadKeys.reduce((sum, loadKey) => sum + Math.abs(versions.get(loadKey) ?? 0), 0);
  return {
    verdict: 'changed',
    files,
    name: `${main.name}-${slice.name}-r${times + 1}`,
    isCurrent: (newest) =>
      [...versions].every(([loadKey, version]) => loadVersion(newest, pipeline, account, loadKey) === version),
    committed,
  };
}

/**
 * Writes those files again that are missing or were changed behind the lake's back, where the slice came as the log has
 * it: the log stays as it is, and its files are what it says once more.
 *
 * @returns what was wrong, a file each
 * @throws LedgerlakeError LAKE_STORE
 */
async function repairFiles(lake: ComparedLake, main: Table, slice: SliceCommit): Promise<string[]> {
  const incoming = new Map(slice.files.map(({ bytes }) => [contentOf(bytes).sha256, bytes]));
  const { mains, derived } = replacedAdds(lake, main, slice);
  const repaired: string[] = [];
  for (const [table, adds] of [[main, mains] as const, ...derived]) {
    for (const add of adds) {
      const path = lake.table(table.name).pathOf(add);
      const fault = faultOf(add, await lake.store.read(path));
      const bytes = incoming.get(add.tags?.['sha256'] ?? '');
      if (fault === undefined || bytes === undefined) continue;
      await lake.store.write(path, bytes);
      repaired.push(`expected ${lake.store.address(path)} as its commit has it, ${fault}; it was written again`);
    }
  }
  return repaired;
}
