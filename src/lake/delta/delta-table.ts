import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import type { Table } from '../../core/columns/table.js';
import { codeOf, LedgerlakeError } from '../../core/errors.js';
import { version as programVersion } from '../../core/version.js';
import {
  encodeActions,
  type Action,
  type Add,
  type MetaData,
  type Protocol,
  type Remove,
  type Txn,
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

/** The newest protocol that this program reads and writes: that of plain tables. */
const supported: Protocol = { minReaderVersion: 1, minWriterVersion: 2 };

/** A checkpoint is due after this many commits, plus one for this many rows that it will have. */
const minCommitsPerCheckpoint = 20;
const checkpointRowsPerExtraCommit = 200;

/** How long a checkpoint stays after the next one is written, so that its readers have finished. */
const supersededMs = dayMs;

/** How long a replaced file stays tombstoned after its retention: by then a nightly run has deleted it. */
const vacuumMs = 2 * dayMs;

/** Operation of the commit behind the first checkpoint of a cleaned-up log. */
const cleanUpOperation = 'LOG CLEANUP';
/** The same in logs of earlier versions of this program. */
const earlierCleanUpOperation = 'CUT LOG';
const rebuildOperation = 'REBUILD LOG';

/**
 * Returns the actions of a commit on top of a snapshot; undefined where there is nothing to commit. An empty list only
 * claims a version.
 */
export type Build = (snapshot: Snapshot) => WantedActions | Promise<WantedActions>;
type WantedActions = readonly Action[] | undefined;

/**
 * One table of the lake: a Delta Lake log beside its partition folders. A version is claimed by creating its commit file, in
 * which exactly one of several writers succeeds; the others read the winner's commit and build their actions again.
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

  /** The newest version read; `refresh` reads newer ones. */
  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** The columns of its files: those of the schema, then those that a newer program version has added. */
  get columns(): readonly LogColumn[] {
    return fileColumns(this.schema, this.#metaData);
  }

  /** When the table was created, in milliseconds since 1970; undefined where it doesn't exist or the log doesn't say. */
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

  /** The table's metaData action; undefined where there is no log. */
  get metaData(): MetaData | undefined {
    return this.#metaData;
  }

  /** The retention of replaced files, in milliseconds; 0: they are deleted immediately. */
  get retentionMs(): number {
    return this.#retentionMs;
  }

  /** Sets the retention, in milliseconds; also for a table that is created later. */
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

  /** Replaced files that readers of older versions may still find; none without a retention. */
  replacedFiles(): readonly Remove[] {
    return this.retentionMs === 0 ? [] : [...this.#removed.values()].filter(isOfFile);
  }

  /** Whether a path is that of a replaced file whose retention hasn't passed. */
  isRetained(path: string): boolean {
    const removed = this.#removed.get(path);
    const { retentionMs } = this;
    if (removed === undefined || retentionMs === 0 || !isOfFile(removed)) return false;
    return removed.deletionTimestamp + retentionMs > this.#clock.now();
  }

  /** Whether the newest version has no file with a path within the lake, and doesn't retain one. */
  isOrphan(path: string): boolean {
    return this.fileAt(path) === undefined && !this.isRetained(path.slice(this.schema.name.length + 1));
  }

  /**
   * Whether a commit removed the path within the last day, or with a retention, since the file may be deleted. Then the
   * path can't be added, because the file may be deleted at any time. An orphan also gets a tombstone before it is
   * deleted, so that a writer that is about to add it notices.
   */
  isTombstoned(path: string): boolean {
    const removed = this.#removed.get(path);
    if (removed === undefined) return false;
    const { retentionMs } = this;
    const tombstonedMs = retentionMs > 0 && isOfFile(removed) ? retentionMs + vacuumMs : tombstoneMs;
    return removed.deletionTimestamp + tombstonedMs > this.#clock.now();
  }

  /** Reads newer commits. */
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

  /** Reads the table from the beginning of its log; where that fails, the snapshot stays. */
  async #reopen(): Promise<Snapshot> {
    let segment = await this.#log.open();
    // The log was cleaned up during the read: its new first checkpoint leaves out what the older versions had.
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
   * Creates the log where there is none. Must be called before the table's first file is written, so that files without
   * a log mean that the log was lost.
   *
   * @throws LedgerlakeError as `commit`
   */
  async begin(): Promise<void> {
    if (this.snapshot.version >= 0) return;
    await this.commit('CREATE TABLE', ({ version }) => (version < 0 ? [] : undefined));
  }

  /**
   * Commits the actions of `build` atomically, on top of concurrent commits.
   *
   * @throws LedgerlakeError LAKE_UNCLEAR where the store doesn't say whether the commit succeeded
   */
  async commit(operation: string, build: Build): Promise<Snapshot> {
    // One commit at a time in this process, so that its slices don't compete for a version.
    return this.#mutex.run(() => this.#commit(operation, build));
  }

  /** Like `commit`, but may add tombstoned paths: for callers that know that nobody is about to delete the files. */
  async restore(operation: string, build: Build): Promise<Snapshot> {
    return this.#mutex.run(() => this.#commit(operation, build, true));
  }

  /** The newest removal of each path, as far back as the log goes. */
  async removals(paths: ReadonlySet<string>): Promise<readonly Remove[]> {
    return this.#log.removals(this.snapshot.version, paths);
  }

  /**
   * Checks by the commits, not by a checkpoint, that none of these paths is in the table. Must be called before their
   * files are deleted.
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
   * Restarts the log at a checkpoint without the transactions that `keeps` rejects, and removes every older version.
   * Removed files are forgotten as well, except retained ones that `keepsFile` accepts.
   *
   * @throws LedgerlakeError LAKE_LOG where the checkpoint can't be read back; then no version was removed
   */
  async cleanUpLog(keepsTxn: (txn: Txn) => boolean, keepsFile: (file: Remove) => boolean = () => false): Promise<void> {
    await this.#mutex.run(async () => {
      // A separate version, so that the commit that removed the files is removed as well.
      await this.#commit('FENCE', () => []);
      for (const txn of [...this.snapshot.txns.values()]) if (!keepsTxn(txn)) this.#snapshot.forget(txn);
      // No other run is active that could add or delete such a file, and the paths contain the account.
      for (const [path, file] of this.#removed) {
        if (!this.isRetained(path) || !keepsFile(file)) this.#removed.delete(path);
      }
      const beginning = this.snapshot.version;
      await this.#writeCheckpoint();
      // Readers of older versions read the table again at this commit.
      await this.#commit(cleanUpOperation, () => []);
      await this.#log.cleanUp(beginning);
    });
  }

  /**
   * The readable remains of a log that can't be opened.
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
   * Starts a new log with only these actions, at a version above all earlier ones. The caller removes the files of the
   * old log. No other run may be active on the lake.
   *
   * @returns the paths of the new log's files
   * @throws LedgerlakeError LAKE_CONFLICT where the version is taken
   */
  async beginAnew(version: number, metaData: MetaData | undefined, actions: readonly Action[]): Promise<string[]> {
    return this.#mutex.run(async () => {
      const timestamp = this.#clock.now();
      const described = metaData ?? newMetaData(this.schema, timestamp);
      const all: Action[] = [
        commitInfo(rebuildOperation, timestamp),
        { protocol: supported },
        { metaData: widenedMetaData(described, this.schema) ?? described },
        ...actions,
      ];
      this.#snapshot.clear();
      this.#removed.clear();
      this.#skipped = [];
      this.#apply(all, version);
      // The checkpoint first: from then on readers ignore all older versions.
      await this.#writeCheckpoint();
      const path = this.#log.commitPath(version);
      if (!(await this.#claim(path, encodeActions(all, { table: this.schema.name, version })))) {
        throw new LedgerlakeError('LAKE_CONFLICT', `expected ${path} to be free, got a file of another run; run again`);
      }
      return [path, this.#log.checkpointPath(version), this.#log.hintPath];
    });
  }

  /** Damaged checkpoints that were skipped when the log was opened; the commits replace them. */
  get damagedCheckpoints(): readonly SkippedCheckpoint[] {
    return this.#skipped.filter(({ fault }) => fault !== undefined);
  }

  /** Writes a checkpoint that replaces the skipped ones, with `always` also all others whose bytes have changed. */
  async repairCheckpoints(always: boolean): Promise<void> {
    if (this.snapshot.version < 0) return;
    await this.#mutex.run(async () => {
      const bad = [...this.#skipped, ...(always ? await this.#log.changedCheckpoints() : [])];
      if (bad.length === 0 && !(always && (await this.#log.hintFault()) !== undefined)) return;
      await this.#writeCheckpoint();
      for (const one of bad) if (one.version !== this.snapshot.version) await this.#store.remove(one.path);
      this.#skipped = [];
    });
  }

  /** The faults of checkpoints and their hint. */
  async logFaults(): Promise<readonly SkippedCheckpoint[]> {
    const hint = await this.#log.hintFault();
    const skipped = this.damagedCheckpoints;
    const changed = await this.#log.changedCheckpoints();
    const others = changed.filter(({ path }) => skipped.every((one) => one.path !== path));
    return [...(hint === undefined ? [] : [hint]), ...skipped, ...others];
  }

  /** Compares the checkpoint that the table was read from with the commits. */
  async replay(): Promise<Replay> {
    return replayLog(this.#log, this.#checkpointed);
  }

  /**
   * Removes the checkpoint that the table was read from while it contradicts commits with checksums, and reads the
   * table again. Resolves to the paths of the removed checkpoints.
   */
  async dropWrongCheckpoints(): Promise<readonly string[]> {
    const dropped: string[] = [];
    if (this.snapshot.version < 0) return dropped;
    await this.#mutex.run(async () => {
      let { wrong } = await this.replay();
      for (; wrong?.isCertain === true; { wrong } = await this.replay()) {
        await this.#store.remove(wrong.path);
        dropped.push(wrong.path);
        await this.#reopen();
      }
      if (dropped.length > 0) await this.#writeCheckpoint();
    });
    return dropped;
  }

  /**
   * Removes superseded checkpoints, each of which is a copy of the table's state; only where this run has written one,
   * or `always`. All commits stay.
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
      const actions: Action[] = [commitInfo(operation, timestamp), ...this.#described(wanted, timestamp), ...wanted];
      const version = snapshot.version + 1;
      const id = { table: this.schema.name, version };
      const earlier = snapshot.version < 0 ? undefined : this.#log.commitPath(snapshot.version);
      if (!(await this.#claim(this.#log.commitPath(version), encodeActions(actions, id), earlier))) {
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

  /**
   * Whether a commit behind a removed version belongs to the log; otherwise it was created below the log's first
   * version, and is discarded.
   */
  async #exists(version: number): Promise<boolean> {
    await this.#reopen();
    if (this.#checkpointed < version) return true;
    await this.#store.remove(this.#log.commitPath(version));
    return false;
  }

  /** Creates the commit file. Where the store doesn't say who won, the file's content does. */
  async #claim(path: string, bytes: Uint8Array, earlier?: string): Promise<boolean> {
    try {
      return await this.#store.create(path, bytes, earlier);
    } catch (error) {
      if (codeOf(error) !== 'LAKE_UNCLEAR') throw error;
      const found = await this.#store.read(path);
      if (found === undefined) throw error;
      return Buffer.compare(found, bytes) === 0;
    }
  }

  /** The protocol and metaData actions of a commit that creates the table or adds columns. */
  #described(wanted: readonly Action[], now: number): Action[] {
    if (this.snapshot.version < 0) {
      return [{ protocol: supported }, { metaData: newMetaData(this.schema, now, this.#retentionMs) }];
    }
    if (this.#metaData === undefined || !wanted.some((action) => 'add' in action)) return [];
    const metaData = widenedMetaData(this.#metaData, this.schema);
    return metaData === undefined ? [] : [{ metaData }];
  }

  /** Writes a checkpoint where one is due: the larger the table, the more rarely. */
  async #checkpoint(): Promise<void> {
    if (!this.#isCheckpointDue()) return;
    // Concurrent runs find it due at the same time: only the first one writes it.
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

/** Its id makes the bytes of each attempt unique, so that a writer recognizes its commit. */
function commitInfo(operation: string, timestamp: number): Action {
  return { commitInfo: { timestamp, operation, engineInfo: `ledgerlake/${programVersion}`, txnId: randomUUID() } };
}

/** Whether a removal is of a committed file, and not only the tombstone of an orphan. */
function isOfFile({ size }: Remove): boolean {
  return size !== undefined;
}

function isCleanUp(actions: readonly Action[]): boolean {
  const operations: readonly unknown[] = [cleanUpOperation, earlierCleanUpOperation, rebuildOperation];
  return actions.some((action) => 'commitInfo' in action && operations.includes(action.commitInfo['operation']));
}
