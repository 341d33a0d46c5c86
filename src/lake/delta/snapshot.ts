import type { Action, Add, Txn } from './actions.js';
import {
  accountOf,
  derivedOf,
  accountOfTxn,
  referencedByTxn,
  countsAsLoaded,
  parseAppId,
  loadKeysOf,
} from './file-tags.js';
import { unnumbered } from './log-paths.js';

/**
 * The state of a table at the newest version read; it changes as newer versions are read. The queries of a commit take
 * a time that doesn't depend on the number of accounts.
 */
export interface Snapshot {
  /** -1 where there is no table yet. */
  readonly version: number;
  /** The table's files by their path in the log. */
  readonly files: ReadonlyMap<string, Add>;
  /** Transactions by application id. */
  readonly txns: ReadonlyMap<string, Txn>;
  /** The files of an account. */
  filesOf(account: string): Iterable<Add>;
  /** The files of an account and pipeline with any of these load keys. */
  filesWith(account: string, pipeline: string, loadKeys: Iterable<string>): Add[];
  /** The files with this path in the log, plus a number behind the name. */
  numbered(path: string): Iterable<Add>;
  /** The transactions of an account. */
  txnsOf(account: string): Iterable<Txn>;
  /** The load keys that a pipeline has read for an account. */
  loadKeysOf(account: string, pipeline: string): ReadonlyMap<string, Txn>;
  /** Accounts that have transactions. */
  accounts(): Iterable<string>;
  /** The file with this path, decoded, below the table's folder. */
  fileAt(decodedPath: string): Add | undefined;
  /** The number of the table's files that reference a derived file, by its path within the lake. */
  referenceCount(path: string): number;
  /** The derived files that the table's files reference, as paths within the lake. */
  readonly referenced: Iterable<string>;
  /** The pinned files of append-only tables, as paths within the lake. */
  readonly pinned: ReadonlySet<string>;
}

/** A snapshot to which actions are applied. */
export class LiveSnapshot implements Snapshot {
  version = -1;
  readonly #files = new ByAccount<Add>(accountOf);
  readonly #txns = new ByAccount<Txn>(({ appId }) => accountOfTxn(appId));
  /** The transactions of load keys that count as loaded. */
  readonly #loadedKeys = new ByLoadKey<Txn>();
  /** The files by load key, so that a commit needn't scan all files of an account. */
  readonly #filesByKey = new ByLoadKey<readonly Add[]>();
  /** Files with a number behind the name, by the path without the number, then by their path. */
  readonly #numbered = new Map<string, Map<string, Add>>();
  /** Files with a percent-encoded path, by the decoded path. */
  readonly #byDecodedPath = new Map<string, Add>();
  readonly #references = new Map<string, number>();
  readonly #pinned = new Set<string>();

  get files(): ReadonlyMap<string, Add> {
    return this.#files.all;
  }

  get txns(): ReadonlyMap<string, Txn> {
    return this.#txns.all;
  }

  filesOf(account: string): Iterable<Add> {
    return this.#files.of(account);
  }

  filesWith(account: string, pipeline: string, loadKeys: Iterable<string>): Add[] {
    const files = this.#filesByKey.of(account, pipeline, () => {
      for (const add of this.filesOf(account)) this.#changeFiles(add, (files) => [...files, add]);
    });
    const found = new Set<Add>();
    for (const loadKey of loadKeys) for (const add of files?.get(loadKey) ?? []) found.add(add);
    return [...found];
  }

  numbered(path: string): Iterable<Add> {
    return this.#numbered.get(path)?.values() ?? [];
  }

  txnsOf(account: string): Iterable<Txn> {
    return this.#txns.of(account);
  }

  loadKeysOf(account: string, pipeline: string): ReadonlyMap<string, Txn> {
    const loaded = this.#loadedKeys.of(account, pipeline, () => {
      for (const txn of this.txnsOf(account)) this.#noteTxn(txn);
    });
    return loaded ?? none;
  }

  accounts(): Iterable<string> {
    return this.#txns.accounts();
  }

  fileAt(decodedPath: string): Add | undefined {
    return (
      this.#byDecodedPath.get(decodedPath) ?? (isEncoded(decodedPath) ? undefined : this.#files.all.get(decodedPath))
    );
  }

  referenceCount(path: string): number {
    return this.#references.get(path) ?? 0;
  }

  get referenced(): Iterable<string> {
    return this.#references.keys();
  }

  get pinned(): ReadonlySet<string> {
    return this.#pinned;
  }

  clear(): void {
    this.version = -1;
    for (const index of [this.#files, this.#filesByKey, this.#numbered, this.#byDecodedPath, this.#references])
      index.clear();
    for (const keys of [this.#txns, this.#loadedKeys, this.#pinned]) keys.clear();
  }

  apply(action: Action): void {
    if ('add' in action) {
      this.#add(action.add);
    } else if ('remove' in action) {
      this.#remove(action.remove.path);
    } else if ('txn' in action) {
      const { txn } = action;
      this.#txns.set(txn.appId, txn);
      this.#noteTxn(txn);
      const path = referencedByTxn(txn.appId);
      if (path !== undefined) this.#pinned.add(path);
    }
  }

  /** Removes a transaction, which no action can do. */
  forget(txn: Txn): void {
    this.#txns.delete(txn.appId);
    this.#noteTxn({ ...txn, version: -1 });
    const path = referencedByTxn(txn.appId);
    if (path !== undefined) this.#pinned.delete(path);
  }

  #noteTxn(txn: Txn): void {
    // Skipped for accounts that weren't queried: opening a log adds very many transactions.
    if (!this.#loadedKeys.has(accountOfTxn(txn.appId) ?? '')) return;
    const read = parseAppId(txn.appId);
    if (read === undefined) return;
    this.#loadedKeys.change(read.account, read.pipeline, read.loadKey, () => (countsAsLoaded(txn) ? txn : undefined));
  }

  #changeFiles(add: Add, change: (files: readonly Add[]) => readonly Add[]): void {
    const account = accountOf(add) ?? '';
    if (!this.#filesByKey.has(account)) return;
    for (const loadKey of loadKeysOf(add)) {
      this.#filesByKey.change(account, add.tags?.['pipeline'] ?? '', loadKey, (files = []) => {
        const changed = change(files);
        return changed.length > 0 ? changed : undefined;
      });
    }
  }

  #add(add: Add): void {
    const { path } = add;
    const before = this.#files.all.get(path);
    // A file that is added again keeps its position in the map, so that a concurrent iteration doesn't see it twice.
    if (before !== undefined && accountOf(before) === accountOf(add)) this.#disregard(before);
    else this.#remove(path);
    this.#files.set(path, add);
    this.#changeFiles(add, (files) => [...files, add]);
    if (isEncoded(path)) this.#byDecodedPath.set(decodeURIComponent(path), add);
    const base = unnumbered(path);
    if (base !== undefined)
      this.#numbered.set(base, (this.#numbered.get(base) ?? new Map<string, Add>()).set(path, add));
    for (const named of derivedOf(add) ?? []) this.#references.set(named, this.referenceCount(named) + 1);
  }

  #remove(path: string): void {
    const add = this.#files.all.get(path);
    if (add === undefined) return;
    this.#files.delete(path);
    if (isEncoded(path)) this.#byDecodedPath.delete(decodeURIComponent(path));
    const base = unnumbered(path) ?? '';
    this.#numbered.get(base)?.delete(path);
    if (this.#numbered.get(base)?.size === 0) this.#numbered.delete(base);
    this.#disregard(add);
  }

  /** Removes the file from the indexes of load keys and references. */
  #disregard(add: Add): void {
    this.#changeFiles(add, (files) => files.filter((other) => other !== add));
    for (const named of derivedOf(add) ?? []) {
      const times = this.referenceCount(named) - 1;
      if (times > 0) this.#references.set(named, times);
      else this.#references.delete(named);
    }
  }
}

function isEncoded(path: string): boolean {
  return path.includes('%');
}

/** Values by key, and by account where they have one. */
class ByAccount<T> {
  readonly all = new Map<string, T>();
  readonly #accountOf: (value: T) => string | undefined;
  /** Built by the first query: readers of a lake make none. */
  #byAccount: Map<string, Map<string, T>> | undefined;

  constructor(accountOf: (value: T) => string | undefined) {
    this.#accountOf = accountOf;
  }

  of(account: string): Iterable<T> {
    return this.#accountIndex().get(account)?.values() ?? [];
  }

  accounts(): Iterable<string> {
    return this.#accountIndex().keys();
  }

  set(key: string, value: T): void {
    this.all.set(key, value);
    if (this.#byAccount !== undefined) this.#note(this.#byAccount, key, value);
  }

  clear(): void {
    this.all.clear();
    this.#byAccount = undefined;
  }

  delete(key: string): void {
    const value = this.all.get(key);
    this.all.delete(key);
    const account = value === undefined ? undefined : this.#accountOf(value);
    if (account === undefined || this.#byAccount === undefined) return;
    const values = this.#byAccount.get(account);
    values?.delete(key);
    if (values?.size === 0) this.#byAccount.delete(account);
  }

  #accountIndex(): ReadonlyMap<string, Map<string, T>> {
    if (this.#byAccount !== undefined) return this.#byAccount;
    const byAccount = new Map<string, Map<string, T>>();
    for (const [key, value] of this.all) this.#note(byAccount, key, value);
    return (this.#byAccount = byAccount);
  }

  #note(byAccount: Map<string, Map<string, T>>, key: string, value: T): void {
    const account = this.#accountOf(value);
    if (account === undefined) return;
    const values = byAccount.get(account);
    if (values === undefined) byAccount.set(account, new Map([[key, value]]));
    else values.set(key, value);
  }
}

/** Values by account, pipeline and load key, indexed for the accounts that were queried. */
class ByLoadKey<T> {
  readonly #byAccount = new Map<string, Map<string, Map<string, T>>>();

  has(account: string): boolean {
    return this.#byAccount.has(account);
  }

  /** The values of an account and a pipeline. The first query for an account calls `fill`, which adds its values. */
  of(account: string, pipeline: string, fill: () => void): ReadonlyMap<string, T> | undefined {
    if (!this.#byAccount.has(account)) {
      this.#byAccount.set(account, new Map<string, Map<string, T>>());
      fill();
    }
    return this.#byAccount.get(account)?.get(pipeline);
  }

  /** Changes a value of an account that was queried; undefined removes it. */
  change(account: string, pipeline: string, loadKey: string, change: (before: T | undefined) => T | undefined): void {
    const byPipeline = this.#byAccount.get(account);
    if (byPipeline === undefined) return;
    let values = byPipeline.get(pipeline);
    if (values === undefined) byPipeline.set(pipeline, (values = new Map<string, T>()));
    const value = change(values.get(loadKey));
    if (value === undefined) values.delete(loadKey);
    else values.set(loadKey, value);
  }

  clear(): void {
    this.#byAccount.clear();
  }
}

const none: ReadonlyMap<string, Txn> = new Map();
