import type { Clock } from '../../core/clock.js';
import { codeOf } from '../../core/errors.js';
import { zstd, type Zstd } from '../../core/parquet/encoder/zstd.js';
import type { Store } from '../store/store.js';
import { FencedRun, newerProgram } from './catalog-errors.js';
import { CatalogFiles } from './catalog-files.js';
import { type Change, type Fence, runName, type TableChange } from './change.js';
import { encodeCheckpoint } from './checkpoint.js';
import { supported, type SealedCommit, canonicalCommit, sealCommit } from './commit.js';
import { CommitGroup, type Decide } from './commit-group.js';
import { openSnapshot, type OpenedSnapshot } from './open-snapshot.js';
import type { Snapshot } from './snapshot.js';
import { catalogError } from '../delta/actions.js';
import { grownSchema } from './grown-schema.js';

/** Commits that are asked for at once where newer ones may exist. */
const refreshAhead = 3;

/** Attempts at a claim whose outcome is unclear. */
const claimAttempts = 4;

/** A checkpoint is due after this many commits, plus one for this many bytes that the last one has. */
const minCommitsPerCheckpoint = 20;
const checkpointBytesPerExtraCommit = 1 << 16;

/** Commits that stay in memory for their publication. */
const recentCommits = 200;

export interface CatalogOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** A random text of letters and digits, another at each call: names runs and attempts at a version. */
  readonly random: () => string;
  /** Tables that may be published without that the catalog knows them, as where its first commits are lost. */
  readonly knownTables: readonly string[];
  /** The name of the run, where it opens the catalog again; left out: a new one. */
  readonly run?: string;
  /** Left out but in tests. */
  readonly rules?: CommitRules;
}

/**
 * The log of a lake. A version is claimed by creating its commit's file, in which exactly one of several writers succeeds; the
 * others read the winner's and decide again.
 */
export class Catalog {
  /** The name of this run: in its commits, and in the names of its files. A vacuum that takes it for dead fences it. */
  readonly run: string;
  readonly #files: CatalogFiles;
  readonly #options: CatalogOptions;
  readonly #rules: CommitRules;
  readonly #zstd: Zstd;
  readonly #recent: Map<number, SealedCommit>;
  readonly #waiting: CommitGroup[] = [];
  #skipped: readonly string[];
  #turns: Promise<void> | undefined;
  #snapshot: Snapshot;
  #checkpoint: OpenedSnapshot['checkpoint'];
  #checkpointing: Promise<void> | undefined;

  private constructor(
    files: CatalogFiles,
    options: CatalogOptions,
    codec: Zstd,
    opened: OpenedSnapshot,
    recent: Map<number, SealedCommit>,
  ) {
    this.#files = files;
    this.#options = options;
    this.#rules = options.rules ?? commitRules;
    this.#zstd = codec;
    this.#snapshot = opened.snapshot;
    this.#checkpoint = opened.checkpoint;
    this.#skipped = opened.skipped;
    this.#recent = recent;
    this.run = options.run ?? runName(opened.snapshot.version, options.random());
  }

  /**
   * Opens the catalog at its newest version; that of a location without one is empty.
   *
   * @throws LedgerlakeError LAKE_LOG where commits are damaged or missing, at the end too, or a newer program's; LAKE_STORE
   */
  static async open(store: Store, options: CatalogOptions): Promise<Catalog> {
    const files = new CatalogFiles(store);
    const codec = await zstd();
    const recent = new Map<number, SealedCommit>();
    const opened = await openSnapshot(files, codec, (commit) => recent.set(commit.value.version, commit));
    const catalog = new Catalog(files, options, codec, opened, recent);
    await catalog.#checkPublished();
    return catalog;
  }

  /** The newest version read; `refresh` reads newer ones. */
  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** Damaged checkpoints that were skipped at opening, as paths within the lake. */
  get skippedCheckpoints(): readonly string[] {
    return this.#skipped;
  }

  /**
   * Reads newer commits.
   *
   * @throws LedgerlakeError LAKE_LOG where one is damaged or doesn't follow; ErasedCommit where one was erased
   */
  async refresh(): Promise<Snapshot> {
    for (;;) {
      const base = this.#snapshot;
      const versions = Array.from({ length: refreshAhead }, (_, at) => base.version + 1 + at);
      const read = await Promise.all(versions.map((version) => this.#files.commit(version)));
      const missing = read.indexOf(undefined);
      const found = read.slice(0, missing < 0 ? undefined : missing).filter((commit) => commit !== undefined);
      this.#advance(base, found);
      if (missing >= 0) return this.#snapshot;
    }
  }

  /** Whether the newest commit that was read is still there. */
  async isPresent(): Promise<boolean> {
    const { version } = this.#snapshot;
    return version < 0 || (await this.#files.hasCommit(version));
  }

  /** Applies commits; where another call has gone on meanwhile, that one's snapshot stays. */
  #advance(base: Snapshot, commits: readonly SealedCommit[]): void {
    if (commits.length === 0) return;
    const next = base.apply(commits);
    if (next.version <= this.#snapshot.version) return;
    this.#snapshot = next;
    for (const commit of commits) this.#remember(commit);
  }

  #remember(commit: SealedCommit): void {
    this.#recent.set(commit.value.version, commit);
    this.#recent.delete(commit.value.version - recentCommits);
  }

  /**
   * The commit of a version; undefined where it is missing.
   *
   * @throws LedgerlakeError LAKE_LOG where it is damaged; ErasedCommit where only its stub is left
   */
  async commitAt(version: number): Promise<SealedCommit | undefined> {
    return this.#recent.get(version) ?? this.#files.commit(version);
  }

  /**
   * Commits atomically what `decide` returns for the newest snapshot: readers see either all of it or nothing. Changes that
   * are ready together in this process become one commit, each decided on a snapshot that has those before it.
   *
   * `decide` may be called several times. A file that was written for it is unused if the commit that this method returns doesn't add it.
   * Any error but LAKE_UNCLEAR says that nothing of this call is committed or will be.
   *
   * @param decide undefined: there is nothing to do. It is told the snapshot and must look at no other
   * @returns the commit; undefined where there was nothing to do
   * @throws FencedRun; LedgerlakeError LAKE_UNCLEAR where the commit may exist, now or later: the run must end and delete
   * nothing, and a vacuum fences it; ErasedCommit; what `decide` throws
   */
  async commit(operation: string, decide: Decide): Promise<SealedCommit | undefined> {
    let group = this.#waiting.at(-1);
    if (group?.operation !== operation) this.#waiting.push((group = new CommitGroup(operation)));
    const result = group.join(decide);
    this.#turns ??= this.#takeTurns();
    return result;
  }

  /** One group after the other: the changes of this process don't compete for a version. */
  async #takeTurns(): Promise<void> {
    // Changes that are ready in the same turn of the event loop join.
    await Promise.resolve();
    for (let group = this.#waiting.shift(); group !== undefined; group = this.#waiting.shift()) {
      try {
        await this.#commitGroup(group);
      } catch (error) {
        group.reject(error);
      }
    }
    this.#turns = undefined;
  }

  async #commitGroup(group: CommitGroup): Promise<void> {
    // The first attempt asks nobody whether there are newer versions: the claim says it.
    for (let isFirst = true; ; isFirst = false) {
      const base = this.#snapshot;
      this.#checkMayCommit(base);
      const change = await group.decide(base, this.#rules.completed);
      if (change !== undefined) {
        if (await this.#claimNext(group, base, change)) return;
        await this.refresh();
      } else if (!isFirst || (await this.refresh()) === base) {
        // That there is nothing to do counts where it was decided on a version read since.
        group.settle(undefined);
        return;
      }
    }
  }

  async #claimNext(group: CommitGroup, base: Snapshot, change: Change): Promise<boolean> {
    const { clock, random } = this.#options;
    const attempt = { operation: group.operation, run: this.run, nonce: random(), now: clock.now() };
    const commit = nextCommit(base, attempt, change, this.#rules);
    const next = base.apply([commit]);
    if (!(await this.#claim(commit))) return false;
    if (next.version > this.#snapshot.version) this.#snapshot = next;
    this.#remember(commit);
    group.settle(commit);
    return true;
  }

  /** @throws LedgerlakeError LAKE_LOG where only a newer program may write to the lake */
  checkWriter({ state }: Snapshot = this.#snapshot): void {
    const { minWriterVersion } = state;
    if (minWriterVersion > supported.minWriterVersion) {
      throw newerProgram(this.#files.location, 'catalog writer version', minWriterVersion, supported.minWriterVersion);
    }
  }

  #checkMayCommit(snapshot: Snapshot): void {
    this.checkWriter(snapshot);
    if (snapshot.isFenced(this.run)) throw new FencedRun(this.run, this.#files.location);
  }

  /**
   * Whether the commit has its version. Where the store doesn't say who won, the same bytes are created again, which is
   * safe whatever became of the first call, and then the nonce says it.
   */
  async #claim(commit: SealedCommit): Promise<boolean> {
    const { version, nonce } = commit.value;
    let unclear: unknown;
    for (let attempt = 0; attempt < claimAttempts; attempt++) {
      try {
        if (await this.#files.create(commit)) return true;
        if (unclear === undefined) return false;
        return (await this.#files.commit(version))?.value.nonce === nonce;
      } catch (error) {
        if (unclear === undefined && codeOf(error) !== 'LAKE_UNCLEAR') throw error;
        unclear ??= error;
      }
    }
    throw unclear;
  }

  /**
   * Finds a lost end: each table's publication must not be ahead of the catalog. One call for each table.
   *
   * @throws LedgerlakeError LAKE_LOG
   */
  async #checkPublished(): Promise<void> {
    for (;;) {
      const { tables, version } = this.#snapshot;
      const names = [...new Set([...tables.keys(), ...this.#options.knownTables])];
      const isAhead = await Promise.all(
        names.map((name) => this.#files.isPublished(name, tables.get(name)?.versions ?? 0)),
      );
      const ahead = names.find((_, at) => isAhead[at]);
      if (ahead === undefined) return;
      // Another run may have committed and published meanwhile.
      if ((await this.refresh()).version > version) continue;
      const found = version < 0 ? 'got none' : `got ${version} as the newest`;
      throw catalogError(
        `expected the commits of ${this.#files.location} that ${ahead}/_delta_log was published from, ${found}`,
      );
    }
  }

  /** Writes a checkpoint where one is due. What was committed stands without it. */
  async writeDueCheckpoint(): Promise<void> {
    if (!this.#isCheckpointDue()) return;
    this.#checkpointing ??= this.#writeUnwrittenCheckpoint().finally(() => (this.#checkpointing = undefined));
    await this.#checkpointing;
  }

  async #writeUnwrittenCheckpoint(): Promise<void> {
    // Concurrent runs find it due at the same time: only the first one writes it.
    const hinted = await this.#files.hintedCheckpoint();
    const version = Math.min(hinted?.version ?? -1, this.#snapshot.version);
    if (version > this.#checkpoint.version && !this.#skipped.includes(hinted?.path ?? '')) {
      this.#checkpoint = { ...this.#checkpoint, version };
    }
    if (!this.#isCheckpointDue()) return;
    try {
      await this.writeCheckpoint();
    } catch (error) {
      // A damaged block of an account that nobody has asked for is no reason to end a run that doesn't.
      if (codeOf(error) !== 'LAKE_LOG') throw error;
    }
  }

  #isCheckpointDue(): boolean {
    const { version, size } = this.#checkpoint;
    return this.#snapshot.version - version >= minCommitsPerCheckpoint + size / checkpointBytesPerExtraCommit;
  }

  /** Writes a checkpoint of the newest version read. */
  async writeCheckpoint(): Promise<void> {
    const { version } = this.#snapshot;
    const encoded = encodeCheckpoint(this.#snapshot, this.#zstd);
    await this.#files.writeCheckpoint(version, encoded);
    this.#checkpoint = { version, size: encoded.bytes.length };
  }

  /** Writes a checkpoint in place of the damaged ones that were skipped at opening. */
  async replaceSkippedCheckpoints(): Promise<void> {
    if (this.#skipped.length === 0) return;
    await this.writeCheckpoint();
    await this.#files.removeCheckpoints(this.#skipped);
    this.#skipped = [];
  }

  /**
   * Overwrites all older commits by stubs, which keep the chain and the names, and removes older checkpoints. No other run may
   * be active on the lake: one that slept can't commit afterwards, because every version it could claim is taken.
   *
   * @param operation of the commit that is the oldest one left
   * @param publish publishes all commits: what is erased can't be published any more
   * @param fence the runs that may commit no more
   * @throws LedgerlakeError LAKE_LOG where the checkpoint that replaces the commits can't be read back; then none is erased
   */
  async erase(operation: string, publish: () => Promise<void>, fence: Fence = {}): Promise<void> {
    // It touches every table, so that each one's publication has a version that names nothing.
    await this.commit(operation, ({ tables }) => ({
      tables: Object.fromEntries([...tables.keys()].map((name) => [name, {}])),
      fence,
    }));
    await publish();
    const snapshot = this.#snapshot;
    const { version } = snapshot;
    await this.#files.writeOnlyCheckpoint(version, encodeCheckpoint(snapshot, this.#zstd));
    await this.#files.eraseBefore(version);
    for (const older of [...this.#recent.keys()]) if (older < version) this.#recent.delete(older);
  }
}

/** Who commits, and when. */
export interface CommitAttempt {
  readonly operation: string;
  readonly run: string;
  /** Unique to this attempt. */
  readonly nonce: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What every commit follows, whatever it changes; an argument, so that tests can show what each rule is needed for. */
export interface CommitRules {
  /** The change as it is committed on top of a snapshot. */
  readonly completed: (snapshot: Snapshot, change: Change) => Change;
  /** When the next commit is, by the clock. */
  readonly at: (snapshot: Snapshot, now: number) => number;
}

export const commitRules: CommitRules = {
  /**
   * - Schemas only grow: columns that the snapshot has and this program doesn't know stay.
   * - A commit touches a table, so that it is published, and its loss is detected (see `Catalog.open`).
   */
  completed: (snapshot, change) => {
    const { tables = {} } = change;
    const grown = Object.entries(tables).map(([name, table]) => [name, grownTable(snapshot, name, table)] as const);
    const [first] = grown.length === 0 ? snapshot.tables.keys() : [];
    return { ...change, tables: Object.fromEntries(first === undefined ? grown : [[first, {}]]) };
  },
  /** A clock may go back, `at` doesn't: readers find the version of an instant by it. */
  at: (snapshot, now) => Math.max(snapshot.state.at, now),
};

function grownTable(snapshot: Snapshot, name: string, table: TableChange): TableChange {
  const { metaData, description, ...files } = table;
  return {
    ...grownSchema(snapshot.tables.get(name), { ...(metaData && { metaData }), ...(description && { description }) }),
    ...files,
  };
}

/** The commit of the version behind a snapshot. */
export function nextCommit(
  snapshot: Snapshot,
  attempt: CommitAttempt,
  change: Change,
  rules: CommitRules,
): SealedCommit {
  const { operation, run, nonce, now } = attempt;
  const { version, hash, minReaderVersion, minWriterVersion } = snapshot.state;
  const header = {
    version: version + 1,
    previous: hash,
    run,
    nonce,
    operation,
    at: rules.at(snapshot, now),
    // Once raised they stay.
    minReaderVersion: Math.max(minReaderVersion, supported.minReaderVersion),
    minWriterVersion: Math.max(minWriterVersion, supported.minWriterVersion),
  };
  return sealCommit(canonicalCommit(header, change));
}
