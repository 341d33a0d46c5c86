import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import type { Table } from '../../core/columns/table.js';
import { LedgerlakeError } from '../../core/errors.js';
import { version as programVersion } from '../../core/version.js';
import {
  type Action,
  type Add,
  type MetaData,
  type Protocol,
  type Remove,
  type Txn,
  encodeActions,
} from './actions.js';
import { encodeCheckpoint } from './checkpoint.js';
import { commitsMissing, DeltaLog, type SkippedCheckpoint } from './delta-log.js';
import {
  type LogColumn,
  tombstoneMs,
  fileColumns,
  newMetaData,
  retentionOf,
  widenedMetaData,
  withRetention,
} from './table-metadata.js';
import { readRemains, type LogRemains } from './log-remains.js';
import { replayLog, type Replay } from './checkpoint-replay.js';
import { checkLoggedPaths } from './log-paths.js';
import { LiveSnapshot, type Snapshot } from './snapshot.js';
import type { Store } from '../store/store.js';
import { Mutex } from '../../core/mutex.js';
import { dayMs } from '../../core/windows.js';

/** The newest protocol that this program reads and writes: no feature beyond the plain table is used. */
const supported: Protocol = { minReaderVersion: 1, minWriterVersion: 2 };

/** A checkpoint is due after this many commits, and one more for so many rows that it will have. */
const minCommitsPerCheckpoint = 20;
const checkpointRowsPerExtraCommit = 200;

/** A checkpoint stays for so long behind the next one: whoever reads it is done by then. */
const supersededMs = dayMs;

/** So long behind its retention a replaced file stays tombstoned: where runs are nightly, one has deleted it by then. */
const vacuumMs = 2 * dayMs;

/** Operation of the commit behind a checkpoint at which a log was made to begin: its older versions are removed. */
const cleanUpOperation = 'LOG CLEANUP';
/** The same in logs of earlier versions of this program. */
const earlierCleanUpOperation = 'CUT LOG';
/** Operation of the first commit of a log that was written anew. */
const rebuildOperation = 'REBUILD LOG';
/** Operation of the first commit of a table that is about to get its first file. */
const createOperation = 'CREATE TABLE';

/**
 * What a commit does to the table, given what is there; undefined where there is nothing left to do. An empty list only
 * claims a version.
 */
export type Build = (snapshot: Snapshot) => WantedActions | Promise<WantedActions>;
type WantedActions = readonly Action[] | undefined;

/**
 * One table of the lake: a Delta Lake log beside its partition folders. A version is claimed by creating its commit
 * file, which exactly one of several writers can do; the others read what won and build again.
 */
export class DeltaTable {
  readonly schema: Table;
  readonly #store: Store;
  readonly #log: DeltaLog;
  readonly #clock: Clock;
  #checkpointed = -1;
  #skipped: readonly SkippedCheckpoint[] = [];
  #hasWrittenCheckpoint = false;
  #protocol: Protocol = supported;
  #metaData: MetaData | undefined;
  readonly #snapshot = new LiveSnapshot();
  readonly #removed = new Map<string, Remove>();
  #retentionMs = 0;
  readonly #mutex = new Mutex();

  constructor(schema: Table, store: Store, clock: Clock) {
    this.schema = schema;
    this.#store = store;
    this.#log = new DeltaLog(store, schema.name);
    this.#clock = clock;
  }

  /** The newest version this object knows; `refresh` reads on. */
  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** The columns of its files: the schema's, and behind them what a newer version of this program has added. */
  get columns(): readonly LogColumn[] {
    return fileColumns(this.schema, this.#metaData);
  }

  /** When its log began, in milliseconds since 1970; undefined where it hasn't or doesn't say. */
  get createdAt(): number | undefined {
    return this.#metaData?.createdTime;
  }

  /** `LAKE/TABLE/_delta_log`, for messages. */
  get logLocation(): string {
    return this.#log.location;
  }

  /** The file's path within the lake. */
  pathOf(add: Pick<Add, 'path'>): string {
    return `${this.schema.name}/${decodeURIComponent(add.path)}`;
  }

  /** The file with a path within the lake, as `pathOf` gives it; undefined where this table has none there. */
  fileAt(path: string): Add | undefined {
    const prefix = `${this.schema.name}/`;
    return path.startsWith(prefix) ? this.snapshot.fileAt(path.slice(prefix.length)) : undefined;
  }

  /** What the log says of the table; undefined where it hasn't begun. */
  get metaData(): MetaData | undefined {
    return this.#metaData;
  }

  /** How long files stay that commits have replaced, in milliseconds; 0: they are deleted at once. */
  get retentionMs(): number {
    return this.#retentionMs;
  }

  /** Sets the retention, in milliseconds, also of a log that begins later. */
  async setRetention(retentionMs: number): Promise<void> {
    if (this.#metaData === undefined) {
      this.#retentionMs = retentionMs;
      return;
    }
    await this.commit('SET TBLPROPERTIES', () => {
      if (this.#metaData === undefined || this.#retentionMs === retentionMs) return undefined;
      return [{ metaData: withRetention(this.#metaData, retentionMs) }];
    });
  }

  /**
   * Files that commits have replaced and that readers of older versions may find, for as long as the log has them; none without
   * a retention.
   */
  replacedFiles(): readonly Remove[] {
    return this.retentionMs === 0 ? [] : [...this.#removed.values()].filter(isOfFile);
  }

  /** Whether a path is that of a file that commits have replaced and whose retention hasn't passed. */
  isRetained(path: string): boolean {
    const removed = this.#removed.get(path);
    const { retentionMs } = this;
    if (removed === undefined || retentionMs === 0 || !isOfFile(removed)) return false;
    return removed.deletionTimestamp + retentionMs > this.#clock.now();
  }

  /**
   * Whether a commit of the last day removed the path; with a retention, whether one of the time until its file is deleted did.
   * Then it can't be added: the file may be deleted at any instant. A file that no commit ever named is removed by a commit
   * too before it is deleted, so that whoever is about to name it learns of it.
   */
  isTombstoned(path: string): boolean {
    const removed = this.#removed.get(path);
    if (removed === undefined) return false;
    const { retentionMs } = this;
    const tombstonedMs = retentionMs > 0 && isOfFile(removed) ? retentionMs + vacuumMs : tombstoneMs;
    return removed.deletionTimestamp + tombstonedMs > this.#clock.now();
  }

  /** Reads what was committed since. */
  async refresh(): Promise<Snapshot> {
    return this.#mutex.run(() => this.#readOn());
  }

  async #readOn(): Promise<Snapshot> {
    for (;;) {
      if (this.snapshot.version < 0) return this.#reopen();
      const actions = await this.#log.commit(this.snapshot.version + 1);
      if (actions === undefined)
        return (await this.#log.isCleanedUp(this.snapshot.version)) ? this.#reopen() : this.snapshot;
      if (isCleanUp(actions)) return this.#reopen();
      this.#apply(actions, this.snapshot.version + 1);
    }
  }

  /** Reads the table from the beginning of its log; where that fails, what was known stays. */
  async #reopen(): Promise<Snapshot> {
    let segment = await this.#log.open();
    // Cut while it was read: the new beginning leaves out what these older versions still had.
    if (segment.commits.some((actions, at) => isCleanUp(actions) && at > 0)) segment = await this.#log.open();
    const newest = (segment.checkpoint?.version ?? -1) + segment.commits.length;
    if (newest < this.snapshot.version) throw commitsMissing(this.#log.location, this.snapshot.version, newest);
    this.#snapshot.clear();
    this.#removed.clear();
    this.#checkpointed = -1;
    this.#skipped = segment.skipped;
    if (segment.checkpoint !== undefined) {
      this.#apply(segment.checkpoint.actions, segment.checkpoint.version);
      this.#checkpointed = segment.checkpoint.version;
    }
    for (const actions of segment.commits) this.#apply(actions, this.snapshot.version + 1);
    return this.snapshot;
  }

  /**
   * Begins the log, where there is none: to be called before the table's first file is written, so that no file lies in a
   * table's folder without a log unless the log was lost.
   *
   * @throws LedgerlakeError as `commit`
   */
  async begin(): Promise<void> {
    if (this.snapshot.version >= 0) return;
    await this.commit(createOperation, ({ version }) => (version < 0 ? [] : undefined));
  }

  /**
   * Commits in one step what `build` asks for, on top of whatever others committed meanwhile.
   *
   * @throws LedgerlakeError LAKE_UNCLEAR where the store doesn't say whether the commit was taken
   */
  async commit(operation: string, build: Build): Promise<Snapshot> {
    // One commit at a time from this process: its own slices needn't race each other for a version.
    return this.#mutex.run(() => this.#commit(operation, build));
  }

  /**
   * Commits as `commit` does, and may add paths that were removed less than a day ago: for whoever knows that nobody is
   * about to delete them.
   */
  async restore(operation: string, build: Build): Promise<Snapshot> {
    return this.#mutex.run(() => this.#commit(operation, build, true));
  }

  /** How paths left the table last, as far back as the log goes. */
  async removals(paths: ReadonlySet<string>): Promise<readonly Remove[]> {
    return this.#log.removals(this.snapshot.version, paths);
  }

  /**
   * Sees to it that no commit adds any of these paths without another that removes it: asked before their files are deleted,
   * whatever a checkpoint says.
   *
   * @throws LedgerlakeError LAKE_LOG naming the first such file
   */
  async checkNotAdded(paths: ReadonlySet<string>): Promise<void> {
    const [path] = await this.#log.added(this.snapshot.version, paths);
    if (path === undefined) return;
    throw new LedgerlakeError(
      'LAKE_LOG',
      `expected ${this.pathOf({ path })} of ${this.#store.location} in its table, because a commit adds it and none removes it, ` +
        'got none; a checkpoint is wrong, and nothing was deleted: run `ledgerlake compact`, which removes a checkpoint ' +
        'that contradicts the commits, or restore the log from a copy',
    );
  }

  /**
   * Begins the log anew at a checkpoint that leaves out the transactions that `keeps` doesn't want, and removes every
   * older version: nothing is left of those transactions, nor of files that were removed, but those that stay for a
   * while and that `keepsFile` wants.
   *
   * @throws LedgerlakeError LAKE_LOG where the checkpoint can't be read back; every version is still there then
   */
  async cleanUpLog(keeps: (txn: Txn) => boolean, keepsFile: (file: Remove) => boolean = () => false): Promise<void> {
    await this.#mutex.run(async () => {
      // A version of its own, so that the commit that removed the files doesn't stay either.
      await this.#commit('FENCE', () => []);
      for (const txn of [...this.snapshot.txns.values()]) if (!keeps(txn)) this.#snapshot.forget(txn);
      // Nobody else is at work who could be about to name or to delete such a file, and their names tell of the account.
      for (const [path, file] of this.#removed) {
        if (!this.isRetained(path) || !keepsFile(file)) this.#removed.delete(path);
      }
      const beginning = this.snapshot.version;
      await this.#writeCheckpoint();
      // Whoever has read the older versions comes by this commit, and reads the table again.
      await this.#commit(cleanUpOperation, () => []);
      await this.#log.cleanUp(beginning);
    });
  }

  /**
   * What is left of the log, where it can't be opened.
   *
   * @throws LedgerlakeError LAKE_LOG where the log is of a newer program
   */
  async remains(): Promise<LogRemains> {
    const remains = await readRemains(this.#log);
    for (const protocol of remains.protocols) this.#check(protocol);
    return remains;
  }

  /** Every file in the log's folder, as a path within the lake. */
  async logPaths(): Promise<string[]> {
    return this.#log.paths();
  }

  /**
   * Begins the log anew at a version that is above all that it ever had: with these actions and nothing else. The files of the
   * old log are the caller's to remove. Nobody else may be at work on the lake.
   *
   * @returns the paths of the new log's files
   * @throws LedgerlakeError LAKE_CONFLICT where the version is taken
   */
  async beginAnew(version: number, metaData: MetaData | undefined, actions: readonly Action[]): Promise<string[]> {
    return this.#mutex.run(async () => {
      const timestamp = this.#clock.now();
      const described = metaData ?? newMetaData(this.schema, timestamp);
      const commitInfo = { timestamp, operation: rebuildOperation, engineInfo: `ledgerlake/${programVersion}` };
      const all: Action[] = [
        { commitInfo: { ...commitInfo, txnId: randomUUID() } },
        { protocol: supported },
        { metaData: widenedMetaData(described, this.schema) ?? described },
        ...actions,
      ];
      this.#snapshot.clear();
      this.#removed.clear();
      this.#skipped = [];
      this.#apply(all, version);
      // The checkpoint first: from then on readers pass by whatever lies below it.
      await this.#writeCheckpoint();
      const path = this.#log.commitPath(version);
      if (!(await this.#claim(path, encodeActions(all, { table: this.schema.name, version })))) {
        throw new LedgerlakeError('LAKE_CONFLICT', `expected ${path} to be free, got a file of another run; run again`);
      }
      return [path, this.#log.checkpointPath(version), this.#log.hintPath];
    });
  }

  /** Damaged checkpoints that were skipped when the log was opened: the commits say what they did. */
  get damagedCheckpoints(): readonly SkippedCheckpoint[] {
    return this.#skipped.filter(({ fault }) => fault !== undefined);
  }

  /**
   * Writes a checkpoint that replaces those that aren't relied on: of those that were skipped, or `always` of all whose
   * bytes have changed.
   */
  async repairCheckpoints(always: boolean): Promise<void> {
    if (this.snapshot.version < 0) return;
    await this.#mutex.run(async () => {
      const bad = [...this.#skipped, ...(always ? await this.#log.changedCheckpoints() : [])];
      if (bad.length === 0 && !(always && (await this.#log.hintFault()) !== undefined)) return;
      await this.#writeCheckpoint();
      for (const one of bad) if (one.version !== this.snapshot.version) await this.#log.dropCheckpoint(one);
      this.#skipped = [];
    });
  }

  /** What is wrong with the files beside the commits, which repeat what these say. */
  async logFaults(): Promise<readonly SkippedCheckpoint[]> {
    const hint = await this.#log.hintFault();
    const skipped = this.damagedCheckpoints;
    const changed = await this.#log.changedCheckpoints();
    const others = changed.filter(({ path }) => skipped.every((one) => one.path !== path));
    return [...(hint === undefined ? [] : [hint]), ...skipped, ...others];
  }

  /** Compares the checkpoint that the table was read from with the commits that it repeats. */
  async replay(): Promise<Replay> {
    return replayLog(this.#log, this.#checkpointed);
  }

  /**
   * Removes the checkpoint that the table was read from where it says something else than the commits, and these have
   * checksums, and reads the table again; until one is right, or the commits alone are left. Resolves to the paths of those.
   */
  async dropWrongCheckpoints(): Promise<readonly string[]> {
    const dropped: string[] = [];
    if (this.snapshot.version < 0) return dropped;
    await this.#mutex.run(async () => {
      let { wrong } = await this.replay();
      if (wrong?.isCertain !== true) return;
      for (; wrong?.isCertain === true; { wrong } = await this.replay()) {
        await this.#log.dropCheckpoint(wrong);
        dropped.push(wrong.path);
        await this.#reopen();
      }
      await this.#writeCheckpoint();
    });
    return dropped;
  }

  /**
   * Removes checkpoints that nobody reads any more, as each repeats all that the table is: where this run has written one,
   * or `always`. Commits stay, all of them.
   */
  async dropOldCheckpoints(always: boolean): Promise<void> {
    if (!always && !this.#hasWrittenCheckpoint) return;
    await this.#mutex.run(() => this.#log.dropCheckpoints(this.#clock.now() - supersededMs));
    this.#hasWrittenCheckpoint = false;
  }

  async #commit(operation: string, build: Build, restores = false): Promise<Snapshot> {
    for (;;) {
      const { snapshot } = this;
      const wanted = await build(snapshot);
      if (wanted === undefined) return snapshot;
      if (!restores) this.#refuseTombstoned(wanted);
      const timestamp = this.#clock.now();
      const actions: Action[] = [
        // The id makes each attempt's bytes its own, so that a writer can tell its commit from another's.
        { commitInfo: { timestamp, operation, engineInfo: `ledgerlake/${programVersion}`, txnId: randomUUID() } },
        ...this.#described(wanted, timestamp),
        ...wanted,
      ];
      const version = snapshot.version + 1;
      const id = { table: this.schema.name, version };
      if (!(await this.#claim(this.#log.commitPath(version), encodeActions(actions, id)))) {
        await this.#readOn();
      } else if (!(await this.#log.isCleanedUp(snapshot.version))) {
        this.#apply(actions, version);
        await this.#checkpoint();
        return this.snapshot;
      } else if (await this.#exists(version)) {
        return this.snapshot;
      }
    }
  }

  #refuseTombstoned(actions: readonly Action[]): void {
    const add = actions
      .flatMap((action) => ('add' in action ? action.add : []))
      .find(({ path }) => this.isTombstoned(path));
    if (add === undefined) return;
    throw new LedgerlakeError(
      'LAKE_CONFLICT',
      `expected a new name for ${this.pathOf(add)} of ${this.#store.location}, got one that was removed less than a day ago and ` +
        'may be deleted at any time; run the same command again',
    );
  }

  /** Whether a commit that follows a version which is gone belongs to the log, or was put below where it begins now. */
  async #exists(version: number): Promise<boolean> {
    await this.#reopen();
    if (this.#checkpointed < version) return true;
    await this.#log.discard(version);
    return false;
  }

  /** Creates the commit file; where the store doesn't say who won, the file itself does. */
  async #claim(path: string, bytes: Uint8Array): Promise<boolean> {
    try {
      return await this.#store.create(path, bytes);
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code !== 'LAKE_UNCLEAR') throw error;
      const found = await this.#store.read(path);
      if (found === undefined) throw error;
      return Buffer.compare(found, bytes) === 0;
    }
  }

  /** What readers have to know before they read a commit: of a table that begins, and of columns that are new in its files. */
  #described(wanted: readonly Action[], now: number): Action[] {
    if (this.snapshot.version < 0) {
      return [{ protocol: supported }, { metaData: newMetaData(this.schema, now, this.#retentionMs) }];
    }
    if (this.#metaData === undefined || !wanted.some((action) => 'add' in action)) return [];
    const metaData = widenedMetaData(this.#metaData, this.schema);
    return metaData === undefined ? [] : [{ metaData }];
  }

  /** Keeps opening fast: a checkpoint now and then, more rarely the more it has to hold. */
  async #checkpoint(): Promise<void> {
    if (!this.#isCheckpointDue()) return;
    // Several that are at work all find it due at the same time: only the first of them need write it.
    const newest = (await this.#log.newestCheckpoint()) ?? -1;
    const isReliedOn = this.#skipped.every(({ version }) => version !== newest);
    if (isReliedOn) this.#checkpointed = Math.max(this.#checkpointed, newest);
    if (this.#isCheckpointDue()) await this.#writeCheckpoint();
  }

  #isCheckpointDue(): boolean {
    const { version, files, txns } = this.snapshot;
    return (
      version - this.#checkpointed >= minCommitsPerCheckpoint + (files.size + txns.size) / checkpointRowsPerExtraCommit
    );
  }

  async #writeCheckpoint(): Promise<void> {
    if (this.#metaData === undefined) throw new Error(`expected metaData in ${this.#log.location}, got none`);
    const state = {
      protocol: this.#protocol,
      metaData: this.#metaData,
      files: this.snapshot.files.values(),
      txns: this.snapshot.txns.values(),
      removed: [...this.#removed.values()].filter(({ path }) => this.isTombstoned(path)),
    };
    const { bytes, actions } = await encodeCheckpoint(state);
    await this.#log.writeCheckpoint(this.snapshot.version, bytes, { actions, files: this.snapshot.files.size });
    this.#hasWrittenCheckpoint = true;
    this.#checkpointed = this.snapshot.version;
  }

  #apply(actions: readonly Action[], version: number): void {
    const location = `${this.#log.location}, version ${version}`;
    for (const action of actions) checkLoggedPaths(action, location);
    for (const action of actions) {
      if ('protocol' in action) this.#check((this.#protocol = action.protocol));
      else if ('metaData' in action) {
        this.#metaData = action.metaData;
        this.#retentionMs = retentionOf(action.metaData);
      } else if ('add' in action) this.#removed.delete(action.add.path);
      else if ('remove' in action) this.#removed.set(action.remove.path, action.remove);
      this.#snapshot.apply(action);
    }
    this.#snapshot.version = version;
  }

  #check({ minReaderVersion, minWriterVersion }: Protocol): void {
    if (minReaderVersion <= supported.minReaderVersion && minWriterVersion <= supported.minWriterVersion) return;
    throw new LedgerlakeError(
      'LAKE_LOG',
      `the table ${this.schema.name} of ${this.#store.location} wants Delta reader version ${minReaderVersion} and writer version ` +
        `${minWriterVersion}, this program has ${supported.minReaderVersion} and ${supported.minWriterVersion}; use a newer one`,
    );
  }
}

/** Whether a removal is of a file that a commit had added, and no more than the bar of a path. */
function isOfFile({ size }: Remove): boolean {
  return size !== undefined;
}

function isCleanUp(actions: readonly Action[]): boolean {
  const operations: readonly unknown[] = [cleanUpOperation, earlierCleanUpOperation, rebuildOperation];
  return actions.some((action) => 'commitInfo' in action && operations.includes(action.commitInfo['operation']));
}
