import { hash } from 'node:crypto';
import { overlap, type Window } from '../../../src/core/windows.js';
import { codeOf } from '../../../src/core/errors.js';
import type { Add, MetaData } from '../../../src/lake/delta/actions.js';
import { DamagedFile, DataFile, lakePathOf } from '../../../src/lake/delta/data-file.js';
import type { Catalog } from '../../../src/lake/catalog/catalog.js';
import { FencedRun } from '../../../src/lake/catalog/catalog-errors.js';
import { removedFile, type Change, type TableChange, firstVersionOf } from '../../../src/lake/catalog/change.js';
import type { SealedCommit } from '../../../src/lake/catalog/commit.js';
import type { Snapshot } from '../../../src/lake/catalog/snapshot.js';
import type { Store } from '../../../src/lake/store/store.js';
import type { Habit } from './mutations.js';
import { decodeRows, derived, difference, encodeRows, entriesOf, history, main, tableNames, type Row } from './rows.js';
import { importedKey, type Meaning } from './sequential-model.js';

const pipeline = 'p';

/** Other runs on the lake, as a vacuum sees them. */
export interface Runs {
  /** Whether a run seems to be alive. */
  isAlive(run: string): boolean;
}

export interface SmallLakeOptions {
  readonly store: Store;
  /** Opens the catalog: again where a habit makes this a new run. */
  readonly open: () => Promise<Catalog>;
  readonly publish: (catalog: Catalog) => () => Promise<void>;
  readonly now: () => number;
  readonly runs: Runs;
  /** Whether a checkpoint is written though none is due. */
  readonly isCheckpointDue: () => boolean;
  /** The columns that this writer's program knows. */
  readonly columns: readonly string[];
  /** Is told what a decision means, whenever one is made. */
  readonly decided: (meaning: Meaning) => void;
  /** Rules that this writer breaks. */
  readonly habits: ReadonlySet<Habit>;
}

/** Files written for one operation. */
interface Written {
  readonly paths: Set<string>;
}

/**
 * A lake of three tables on the catalog's own interface, with everything that runs do: loads, refreshes with history, imports,
 * merged files, vacuums. The rows are JSON.
 */
export class SmallLake {
  catalog: Catalog;
  publish: () => Promise<void>;
  readonly #options: SmallLakeOptions;
  #files = 0;

  private constructor(options: SmallLakeOptions, catalog: Catalog) {
    this.#options = options;
    this.catalog = catalog;
    this.publish = options.publish(catalog);
  }

  static async open(options: SmallLakeOptions): Promise<SmallLake> {
    const lake = new SmallLake(options, await options.open());
    await lake.publish();
    return lake;
  }

  /** Loads a window's events, or reads it again: with its history, in one commit. */
  async load(slice: {
    account: string;
    key: string;
    window: Window;
    rows: readonly Row[];
    refresh: boolean;
  }): Promise<unknown> {
    const { account, key, window, rows, refresh } = slice;
    const id = { account, pipeline, key };
    const written = this.#written();
    const events = await this.#writeRows(written, main, account, rows);
    const entries = await this.#writeRows(written, derived, account, entriesOf(rows));
    return this.#commit('WRITE', written, async (snapshot) => {
      const stored = snapshot.key(id);
      if (refresh === (stored === undefined)) return undefined;
      const others = [...snapshot.keysOf(account, pipeline).values()].filter(
        (one) => one.key !== key && one.window !== undefined && overlap(one.window, window),
      );
      if (others.some(({ origin }) => origin === 'api')) return undefined;
      // Also without `refresh`: rows of a key that was deleted, as another of its files was damaged.
      const replaced = new Set([key, ...others.map((one) => one.key)]);
      const tables = await this.#withoutKeys(written, snapshot, account, replaced);
      add(tables, main, events);
      add(tables, derived, entries);
      if (refresh) {
        const before = await this.#rowsOf(snapshot, account, key);
        add(tables, history, await this.#writeRows(written, history, account, changesOf(before, rows)));
      }
      const now = this.#options.now();
      const change: ChangeOfTables = {
        tables,
        keys: {
          set: [{ ...id, window, readAt: now, since: now, origin: 'api' }],
          delete: others.map((one) => ({ account, pipeline, key: one.key })),
        },
      };
      return { change, meaning: { kind: refresh ? 'refresh' : 'load', account, key, window, rows } };
    });
  }

  /** Imports days: those that a load touches are left out; those that were imported before become the union. */
  async import(account: string, days: ReadonlyMap<number, readonly Row[]>): Promise<unknown> {
    const written = this.#written();
    return this.#commit('IMPORT', written, async (snapshot) => {
      const loaded = [...snapshot.keysOf(account, pipeline).values()].filter(({ origin }) => origin === 'api');
      const free = [...days].filter(([day]) => {
        const window = { start: day, end: day + 1 };
        return !loaded.some((one) => one.window !== undefined && overlap(one.window, window));
      });
      if (free.length === 0) return undefined;
      const keys = new Set(free.map(([day]) => importedKey(day)));
      const all: Row[] = [];
      for (const [day, rows] of free) {
        const key = importedKey(day);
        const stored = await this.#rowsOf(snapshot, account, key);
        const missing = difference(
          rows.map(({ c }) => c),
          stored.map(({ c }) => c),
        );
        all.push(...stored, ...missing.map((c) => ({ k: key, day, c })));
      }
      const tables = await this.#withoutKeys(written, snapshot, account, keys);
      add(tables, main, await this.#writeRows(written, main, account, all));
      add(tables, derived, await this.#writeRows(written, derived, account, entriesOf(all)));
      const now = this.#options.now();
      const set = free.map(([day]) => {
        const window = { start: day, end: day + 1 };
        return { account, pipeline, key: importedKey(day), window, readAt: now, since: now, origin: 'import' } as const;
      });
      return { change: { tables, keys: { set } }, meaning: { kind: 'import', account, days: new Map(free) } };
    });
  }

  /** Merges the files of a table, account and month. */
  async compact(account: string, table: string): Promise<unknown> {
    await this.catalog.refresh();
    const months = new Map<string, Add[]>();
    for (const one of this.catalog.snapshot.filesOf(table, account)) {
      const month = one.partitionValues['month'] ?? '';
      months.set(month, [...(months.get(month) ?? []), one]);
    }
    const chosen = [...months.values()].find((some) => some.length > 1);
    if (chosen === undefined) return undefined;
    const written = this.#written();
    let merged: readonly Add[] | undefined;
    return this.#commit('OPTIMIZE', written, async (snapshot) => {
      if (chosen.some(({ path }) => snapshot.file(table, path) === undefined)) return undefined;
      if (merged === undefined) {
        const rows: Row[] = [];
        for (const one of chosen) rows.push(...(await this.#read(table, one)));
        merged = await this.#writeRows(
          written,
          table,
          account,
          rows,
          new Set(chosen.flatMap((file) => new DataFile(file, table).loadKeys)),
        );
      }
      const replaced = { add: merged, remove: chosen.map((one) => removedFile(one, false)) };
      return { change: { tables: [[table, replaced]] }, meaning: { kind: 'nothing' } };
    });
  }

  /**
   * Fences dead runs and deletes their files that no version has, and replaced ones whose retention is over: in the order of
   * `vacuumLake`.
   */
  async vacuum(): Promise<void> {
    const { runs, habits, now, store } = this.#options;
    const found: string[] = [];
    for (const table of tableNames) {
      for await (const { path } of store.list(table)) if (!path.includes('/_')) found.push(path);
    }
    // Files first, then who lives, then the catalog: the writer of a listed file was known by then.
    const own = this.catalog.run;
    const dead = new Set(found.map(runOf).filter((run) => run === own || !runs.isAlive(run)));
    await this.catalog.refresh();
    const unusedIn = (snapshot: Snapshot) => found.filter((path) => dead.has(runOf(path)) && !snapshot.keeps(path));
    const deletable = new Set(unusedIn(this.catalog.snapshot));
    let deleted: readonly string[] = [];
    await this.#commit('VACUUM', this.#written(), (snapshot) => {
      const until = now() - snapshot.config.retentionMs;
      const expired = [...snapshot.retired()].filter(([, at]) => at <= until).map(([path]) => path);
      const orphans = unusedIn(snapshot).filter((path) => deletable.has(path));
      deleted = [...expired, ...orphans];
      const fenced = [...new Set(orphans.map(runOf))].filter((run) => run !== own && !snapshot.isFenced(run));
      if (fenced.length + expired.length === 0) return Promise.resolve(undefined);
      const fence = { runs: habits.has('vacuums without a fence') ? [] : fenced };
      return Promise.resolve({ change: { fence, deleted: expired }, meaning: { kind: 'nothing' } });
    });
    // Also where nothing was committed: other runs' removals have been read since.
    if (!habits.has('vacuums without publishing')) await this.publish();
    for (const path of deleted) await store.remove(path);
  }

  /** Takes a damaged file out: its load keys become gaps, in all tables. */
  async dropDamaged(table: string, path: string): Promise<unknown> {
    const written = this.#written();
    return this.#commit('REPAIR', written, async (snapshot) => {
      const file = snapshot.file(table, path);
      if (file === undefined) return undefined;
      const account = file.partitionValues['account'] ?? '';
      const keys = new Set(file.loadKeys);
      const tables = table === history ? new Map() : await this.#withoutKeys(written, snapshot, account, keys);
      if (table === history) tables.set(history, { remove: [removedFile(file)] });
      const gaps = [...keys].map((key) => ({ account, pipeline, key })).filter((id) => snapshot.key(id) !== undefined);
      const change = { tables, keys: { delete: table === history ? [] : gaps } };
      return { change, meaning: { kind: 'drop', account, keys: [...keys], isHistory: table === history } };
    });
  }

  async setRetention(retentionMs: number): Promise<unknown> {
    return this.#commit('SET', this.#written(), (snapshot) => {
      const isSet = snapshot.config.retentionMs === retentionMs;
      return Promise.resolve(isSet ? undefined : { change: { config: { retentionMs } }, meaning: { kind: 'nothing' } });
    });
  }

  /** Erases the history of the catalog, as when an account is forgotten. */
  async erase(): Promise<void> {
    const publish = this.#options.habits.has('erases what is not published') ? () => Promise.resolve() : this.publish;
    await this.catalog.erase('FORGET', publish, { before: firstVersionOf(this.catalog.run) });
  }

  /** Commits a change, publishes it, and then deletes what it has replaced and what was written in vain. */
  async #commit(
    operation: string,
    written: Written,
    decide: (snapshot: Snapshot) => Promise<{ change: ChangeOfTables; meaning: Meaning } | undefined>,
  ): Promise<SealedCommit | undefined> {
    const { habits, decided } = this.#options;
    const first = this.catalog.snapshot;
    const change = async (given: Snapshot): Promise<Change | undefined> => {
      const older = habits.has('decides on the version it began with') ? first : given;
      const snapshot = habits.has('decides beside its group') ? this.catalog.snapshot : older;
      const found = await decide(snapshot);
      if (found === undefined) return undefined;
      decided(found.meaning);
      return this.#described(found.change);
    };
    let commit: SealedCommit | undefined;
    try {
      commit = await this.#claim(operation, change);
    } catch (error) {
      // Whether the commit is there, now or later, is unknown: a vacuum deletes the files, after it has fenced this run.
      const isUnclear = codeOf(error) === 'LAKE_UNCLEAR' && !habits.has('deletes after an unclear claim');
      if (!isUnclear) await this.#deleteUnused(written, undefined);
      throw error;
    }
    try {
      if (commit !== undefined) await this.#finish(operation, commit);
    } catch (error) {
      if (habits.has('deletes what it has committed where it then fails')) await this.#deleteUnused(written, undefined);
      throw error;
    }
    await this.#deleteUnused(written, commit);
    return commit;
  }

  /** Publishes a commit, and then deletes what it has replaced. */
  async #finish(operation: string, commit: SealedCommit): Promise<void> {
    const { habits } = this.#options;
    const isUnpublished = operation === 'VACUUM' && habits.has('vacuums without publishing');
    if (!isUnpublished && !habits.has('deletes before it publishes')) await this.publish();
    for (const [table, { remove = [] }] of Object.entries(commit.value.tables)) {
      for (const file of remove) {
        const path = lakePathOf(table, file);
        const isRetired = this.catalog.snapshot.isRetired(path) && !habits.has('ignores the retention');
        if (!isRetired) await this.#options.store.remove(path);
      }
    }
    if (!isUnpublished) await this.publish();
    await (this.#options.isCheckpointDue() ? this.catalog.writeCheckpoint() : this.catalog.writeDueCheckpoint());
  }

  async #claim(
    operation: string,
    decide: (snapshot: Snapshot) => Promise<Change | undefined>,
  ): Promise<SealedCommit | undefined> {
    const { version } = this.catalog.snapshot;
    try {
      return await this.catalog.commit(operation, decide);
    } catch (error) {
      // Another run may have replaced the file that is missing.
      if (error instanceof DamagedFile && (await this.catalog.refresh()).version > version)
        return this.#claim(operation, decide);
      if (!(error instanceof FencedRun) || !this.#options.habits.has('goes on where it is fenced')) throw error;
      // Under a new name, with the files of the old one.
      this.catalog = await this.#options.open();
      this.publish = this.#options.publish(this.catalog);
      return this.catalog.commit(operation, decide);
    }
  }

  /** Deletes what was written for a commit that lacks it. What the commit has may have been replaced since by another run. */
  async #deleteUnused({ paths }: Written, commit: SealedCommit | undefined): Promise<void> {
    const used = new Set<string>();
    for (const [table, { add: added = [] }] of Object.entries(commit?.value.tables ?? {})) {
      for (const file of added) used.add(lakePathOf(table, file));
    }
    const isUsed = (path: string) =>
      this.#options.habits.has('deletes what its newest version lacks')
        ? this.catalog.snapshot.has(path)
        : used.has(path);
    for (const path of paths) if (!isUsed(path)) await this.#options.store.remove(path);
  }

  /** With the schemas of this writer's program. */
  #described({ tables, ...rest }: ChangeOfTables): Change {
    const described = [...(tables ?? [])].map(
      ([name, change]) => [name, { ...this.#schema(name), ...change }] as const,
    );
    return { ...rest, tables: Object.fromEntries(described) };
  }

  /** The table's metaData, and its description as one of a custom pipeline. */
  #schema(table: string): Pick<TableChange, 'metaData' | 'description'> {
    const columns = this.#options.columns.map((name) => ({ name, type: 'text' }));
    return { metaData: this.#metaData(table), description: { name: table, columns } };
  }

  #metaData(table: string): MetaData {
    const fields = this.#options.columns.map((name) => ({ name, type: 'string', nullable: true, metadata: {} }));
    return {
      id: table,
      format: { provider: 'parquet', options: {} },
      schemaString: JSON.stringify({ type: 'struct', fields }),
      partitionColumns: ['account', 'month'],
      configuration: {},
    };
  }

  #written(): Written {
    return { paths: new Set() };
  }

  /** Writes a file for each month, under names that are never used again. */
  async #writeRows(
    written: Written,
    table: string,
    account: string,
    rows: readonly Row[],
    keys: ReadonlySet<string> = new Set(rows.map(({ k }) => k)),
  ): Promise<Add[]> {
    const { habits, store, now } = this.#options;
    const months = new Map<string, Row[]>();
    for (const row of rows) {
      const month = `m${Math.floor(row.day / 5)}`;
      months.set(month, [...(months.get(month) ?? []), row]);
    }
    const adds: Add[] = [];
    for (const [month, some] of months) {
      const bytes = encodeRows(some);
      const number = habits.has('uses names again') ? this.#files++ % 3 : this.#files++;
      const path = `account=${account}/month=${month}/${this.catalog.run}_${number}.parquet`;
      written.paths.add(`${table}/${path}`);
      await store.write(`${table}/${path}`, bytes);
      const tags = { loadKeys: JSON.stringify([...keys]), rows: String(some.length), sha256: hash('sha256', bytes) };
      const stats = JSON.stringify({ numRecords: some.length });
      const times = { modificationTime: now(), dataChange: true };
      adds.push({ path, partitionValues: { account, month }, size: bytes.length, ...times, stats, tags });
    }
    return adds;
  }

  async #read(table: string, file: Add): Promise<Row[]> {
    const path = lakePathOf(table, file);
    const bytes = await this.#options.store.read(path);
    if (bytes === undefined || hash('sha256', bytes) !== file.tags?.['sha256']) {
      throw new DamagedFile(path, bytes === undefined ? 'it is missing' : 'it has changed', 'read it again');
    }
    return decodeRows(bytes);
  }

  /** The stored events of a load key. */
  async #rowsOf(snapshot: Snapshot, account: string, key: string): Promise<Row[]> {
    const rows: Row[] = [];
    for (const file of snapshot.filesOf(main, account)) {
      if (file.loadKeys.includes(key)) rows.push(...(await this.#read(main, file)).filter(({ k }) => k === key));
    }
    return rows;
  }

  /** The change that removes all rows of load keys: where a file has others too, its remainder is added. */
  async #withoutKeys(
    written: Written,
    snapshot: Snapshot,
    account: string,
    keys: ReadonlySet<string>,
  ): Promise<Map<string, TableChange>> {
    const tables = new Map<string, TableChange>();
    for (const table of [derived, main]) {
      for (const file of snapshot.filesOf(table, account)) {
        const of = file.loadKeys;
        if (!of.some((key) => keys.has(key))) continue;
        const before = tables.get(table);
        const left = of.filter((key) => !keys.has(key));
        const rest = left.length === 0 ? [] : (await this.#read(table, file)).filter(({ k }) => !keys.has(k));
        const remainder = await this.#writeRows(written, table, account, rest, new Set(left));
        tables.set(table, {
          remove: [...(before?.remove ?? []), removedFile(file)],
          add: [...(before?.add ?? []), ...remainder],
        });
      }
    }
    return tables;
  }
}

interface ChangeOfTables extends Omit<Change, 'tables'> {
  readonly tables?: Iterable<readonly [string, TableChange]>;
}

function add(tables: Map<string, TableChange>, table: string, files: readonly Add[]): void {
  if (files.length === 0 && table === history) return;
  const before = tables.get(table);
  tables.set(table, { ...before, add: [...(before?.add ?? []), ...files] });
}

function changesOf(before: readonly Row[], after: readonly Row[]): Row[] {
  const text = ({ day, c }: Row) => `${day} ${c}`;
  const rowOf = (change: string, k: string) => (given: string) => {
    const [day = '', c = ''] = given.split(' ');
    return { k, day: Number(day), c, change };
  };
  const k = after[0]?.k ?? before[0]?.k ?? '';
  const [old, now] = [before.map(text), after.map(text)];
  return [...difference(old, now).map(rowOf('removed', k)), ...difference(now, old).map(rowOf('added', k))];
}

/** The run that wrote a file, by its name. */
export function runOf(path: string): string {
  return /([^/]*)_\d+\.parquet$/.exec(path)?.[1] ?? '';
}
