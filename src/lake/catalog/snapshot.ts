import type { DataFile } from '../delta/data-file.js';
import type { Table } from '../../core/columns/table.js';
import { catalogError } from '../delta/actions.js';
import { deltaColumns, partitionColumns, type DeltaColumn } from '../delta/table-metadata.js';
import { AccountState, byAccount, type AccountChange } from './account-state.js';
import { accountOfPath, type CatalogConfig, type Change, type Fence, firstVersionOf } from './change.js';
import { noHash, type Commit, type CommitHeader, type Sealed } from './commit.js';
import { checkGrown, type TableState } from './grown-schema.js';
import type { LoadKeyId, LoadKey } from './load-key.js';

/** What a snapshot has of the lake as a whole. */
export interface LakeState extends Pick<CommitHeader, 'version' | 'at' | 'minReaderVersion' | 'minWriterVersion'> {
  /** The hash of the commit of this version. */
  readonly hash: string;
  readonly tables: ReadonlyMap<string, TableState>;
  readonly config: CatalogConfig;
  readonly fence: Required<Fence>;
}

const empty: LakeState = {
  version: -1,
  hash: noHash,
  at: 0,
  minReaderVersion: 1,
  minWriterVersion: 1,
  tables: new Map(),
  config: { retentionMs: 0 },
  fence: { before: 0, runs: [] },
};

const noKeys: ReadonlyMap<string, LoadKey> = new Map();
const noFiles: ReadonlyMap<string, DataFile> = new Map();

/**
 * The state of the lake at a version. It never changes: a newer version is another snapshot, which shares what is the
 * same. So a decision, its look at the fences and the version that it claims are of one state.
 *
 * Queries of an account throw a LedgerlakeError LAKE_LOG where its block of the checkpoint is damaged.
 */
export class Snapshot {
  static readonly empty = new Snapshot(empty, new Map());
  readonly state: LakeState;
  readonly #accounts: ReadonlyMap<string, AccountState>;

  constructor(state: LakeState, accounts: ReadonlyMap<string, AccountState>) {
    this.state = state;
    this.#accounts = accounts;
  }

  /** -1 where there is no commit yet. */
  get version(): number {
    return this.state.version;
  }

  /** Whether nothing was ever committed. */
  get isEmpty(): boolean {
    return this.version < 0;
  }

  get hash(): string {
    return this.state.hash;
  }

  get config(): CatalogConfig {
    return this.state.config;
  }

  get tables(): ReadonlyMap<string, TableState> {
    return this.state.tables;
  }

  /** The accounts with files, load keys or retained files, or with forgotten rows. */
  accounts(): ReadonlySet<string> {
    return new Set(this.#accounts.keys());
  }

  accountStates(): ReadonlyMap<string, AccountState> {
    return this.#accounts;
  }

  /** The same version with some of its accounts. */
  limitedTo(accounts: readonly string[]): Snapshot {
    const some = accounts.flatMap((account) => {
      const state = this.#accounts.get(account);
      return state === undefined ? [] : [[account, state] as const];
    });
    return new Snapshot(this.state, new Map(some));
  }

  /** The files of a table, of all accounts. */
  *files(table: string): Iterable<DataFile> {
    for (const account of this.#accounts.keys()) yield* this.#filesByPath(table, account).values();
  }

  /** The files of a table and account; of one pipeline, or of all. */
  filesOf(table: string, account: string, pipeline?: string): DataFile[] {
    const files = [...this.#filesByPath(table, account).values()];
    return pipeline === undefined ? files : files.filter((file) => file.pipeline === pipeline);
  }

  /** The files of a table, account and pipeline with any of these load keys. */
  filesWith(table: string, account: string, pipeline: string, loadKeys: Iterable<string>): DataFile[] {
    const files = this.#index(table, account).byLoadKey.get(pipeline);
    const found = new Set<DataFile>();
    for (const loadKey of loadKeys) for (const file of files?.get(loadKey) ?? []) found.add(file);
    return [...found];
  }

  /** The files of a table and account whose rows are derived from a main table's file, by that one's path within the lake. */
  derivedFrom(table: string, account: string, path: string): readonly DataFile[] {
    return this.#index(table, account).byMain.get(path) ?? [];
  }

  /** The file with a path in a table's log. */
  file(table: string, path: string): DataFile | undefined {
    const account = accountOfPath(path);
    return account === undefined ? undefined : this.#filesByPath(table, account).get(path);
  }

  /** The file with a path within the lake, of a name that needs no encoding. */
  fileAt(path: string): DataFile | undefined {
    const [table = ''] = path.split('/', 1);
    return this.file(table, path.slice(table.length + 1));
  }

  /** The newest version of a table's published log; -1 for a table without commits. */
  versionOf(table: string): number {
    return (this.tables.get(table)?.versions ?? 0) - 1;
  }

  /** The columns of a table's files: those of its schema, then those that a newer program version has added. */
  columnsOf({ name, columns }: Table): readonly DeltaColumn[] {
    const known = new Set<string>([...columns.map((column) => column.name.toLowerCase()), ...partitionColumns]);
    const metaData = this.tables.get(name)?.metaData;
    const logged = metaData === undefined ? [] : deltaColumns(metaData.schemaString);
    return [...columns, ...logged.filter((column) => !known.has(column.name.toLowerCase()))];
  }

  has(path: string): boolean {
    return this.fileAt(path) !== undefined;
  }

  /** The load keys of a pipeline for an account. */
  keysOf(account: string, pipeline: string): ReadonlyMap<string, LoadKey> {
    return this.#content(account)?.keys.get(pipeline) ?? noKeys;
  }

  /** Of every pipeline. */
  *allKeysOf(account: string): Iterable<LoadKey> {
    for (const keys of this.#content(account)?.keys.values() ?? []) yield* keys.values();
  }

  key({ account, pipeline, key }: LoadKeyId): LoadKey | undefined {
    return this.keysOf(account, pipeline).get(key);
  }

  /** Replaced files that are kept for readers of older versions, by their path within the lake, with when they were replaced. */
  *retired(): Iterable<readonly [string, number]> {
    for (const account of this.#accounts.keys()) yield* this.#content(account)?.retired ?? [];
  }

  /** Whether a path within the lake is that of a file of this version, or of a replaced one that is kept. */
  keeps(path: string): boolean {
    return this.has(path) || this.isRetired(path);
  }

  isRetired(path: string): boolean {
    return this.#content(accountOfPath(path) ?? '')?.retired.has(path) ?? false;
  }

  /** The instant before which an account's rows are forgotten, in milliseconds since 1970; undefined where none are. */
  forgottenBefore(account: string): number | undefined {
    return this.#content(account)?.forgottenBefore;
  }

  /** Whether a run may commit no more. */
  isFenced(run: string): boolean {
    const { before, runs } = this.state.fence;
    return firstVersionOf(run) < before || runs.includes(run);
  }

  #filesByPath(table: string, account: string): ReadonlyMap<string, DataFile> {
    return this.#content(account)?.files.get(table) ?? noFiles;
  }

  #index(table: string, account: string): FileIndex {
    const files = this.#filesByPath(table, account);
    let index = indexes.get(files);
    if (index === undefined) indexes.set(files, (index = indexOf(files.values())));
    return index;
  }

  #content(account: string) {
    return this.#accounts.get(account)?.content;
  }

  /**
   * The state behind further commits.
   *
   * @throws LedgerlakeError LAKE_LOG where one of them doesn't follow; what one changes of an account that nobody has asked for
   * is checked when somebody does
   */
  apply(commits: readonly Sealed<Commit>[]): Snapshot {
    let { state } = this;
    const changes = new Map<string, AccountChange[]>();
    for (const { value: commit, hash } of commits) {
      checkFollows(state, commit);
      const { retentionMs } = state.config;
      for (const [account, change] of byAccount(commit, commit.version, retentionMs > 0 ? commit.at : undefined)) {
        const earlier = changes.get(account);
        if (earlier === undefined) changes.set(account, [change]);
        else earlier.push(change);
      }
      state = { ...changedState(state, commit), hash, ...commitHeader(commit) };
    }
    return new Snapshot(state, changedAccounts(this.#accounts, changes));
  }

  /**
   * The state with a change that is to be committed: of the same version.
   *
   * @throws LedgerlakeError LAKE_LOG where it doesn't follow
   */
  stage(change: Change): Snapshot {
    const { version, at, config } = this.state;
    const changes = byAccount(change, version + 1, config.retentionMs > 0 ? at : undefined);
    // What is to be written is checked now, also for an account that nobody has asked for.
    for (const account of changes.keys()) this.#content(account);
    const lists = new Map([...changes].map(([account, one]) => [account, [one]]));
    return new Snapshot(changedState(this.state, change), changedAccounts(this.#accounts, lists));
  }
}

function commitHeader({ version, at, minReaderVersion, minWriterVersion }: Commit) {
  return { version, at, minReaderVersion, minWriterVersion };
}

function checkFollows(state: LakeState, { version, previous, at }: Commit): void {
  const wrong = (expected: string) => catalogError(`expected version ${version} of the catalog to ${expected}`);
  if (version !== state.version + 1) throw wrong(`be version ${state.version + 1}`);
  if (previous !== state.hash) throw wrong(`follow version ${state.version}, it names another hash`);
  if (at < state.at) throw wrong(`be no earlier than version ${state.version}`);
}

function changedState(state: LakeState, { tables = {}, fence, config }: Change): LakeState {
  const changed = new Map(state.tables);
  for (const [name, { metaData, description }] of Object.entries(tables)) {
    const table = changed.get(name);
    const known = metaData ?? table?.metaData;
    if (known === undefined)
      throw catalogError(`expected the schema of the table ${name} in its first commit, got none`);
    checkGrown(table, { ...(metaData && { metaData }), ...(description && { description }) }, name);
    const described = description ?? table?.description;
    const versions = (table?.versions ?? 0) + 1;
    changed.set(name, { versions, metaData: known, ...(described && { description: described }) });
  }
  return {
    ...state,
    tables: changed,
    config: config === undefined ? state.config : { ...state.config, ...config },
    fence: fence === undefined ? state.fence : joinedFence(state.fence, fence),
  };
}

/** Names of runs that the version includes go, so that the list stays short. */
function joinedFence(stored: Required<Fence>, { before = 0, runs = [] }: Fence): Required<Fence> {
  const least = Math.max(before, stored.before);
  const all = new Set([...stored.runs, ...runs]);
  return { before: least, runs: [...all].filter((run) => firstVersionOf(run) >= least) };
}

function changedAccounts(
  accounts: ReadonlyMap<string, AccountState>,
  changes: ReadonlyMap<string, readonly AccountChange[]>,
): ReadonlyMap<string, AccountState> {
  if (changes.size === 0) return accounts;
  const changed = new Map(accounts);
  for (const [account, some] of changes) {
    const state = (changed.get(account) ?? AccountState.none).with(some);
    if (state.isDecoded && state.isEmpty) changed.delete(account);
    else changed.set(account, state);
  }
  return changed;
}

/** An account's files in a table. */
interface FileIndex {
  /** By pipeline, then by load key. */
  readonly byLoadKey: ReadonlyMap<string, ReadonlyMap<string, readonly DataFile[]>>;
  /** By the main table's file that they are derived from. */
  readonly byMain: ReadonlyMap<string, readonly DataFile[]>;
}

/** Snapshots share the files of a table and account that a commit leaves alone. */
const indexes = new WeakMap<ReadonlyMap<string, DataFile>, FileIndex>();

function indexOf(files: Iterable<DataFile>): FileIndex {
  const byLoadKey = new Map<string, Map<string, DataFile[]>>();
  const byMain = new Map<string, DataFile[]>();
  for (const file of files) {
    const { pipeline, main } = file;
    let keys = byLoadKey.get(pipeline);
    if (keys === undefined) byLoadKey.set(pipeline, (keys = new Map<string, DataFile[]>()));
    for (const loadKey of file.loadKeys) append(keys, loadKey, file);
    if (main !== undefined) append(byMain, main, file);
  }
  return { byLoadKey, byMain };
}

function append(lists: Map<string, DataFile[]>, key: string, file: DataFile): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [file]);
  else list.push(file);
}
