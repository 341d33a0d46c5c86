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
 * A table as the newest version that was read has it: a view that moves on with the table. What a commit asks of it takes no
 * longer however many accounts the lake holds.
 */
export interface Snapshot {
  /** -1: there is no table yet. */
  readonly version: number;
  /** The table's files by their path in the log. */
  readonly files: ReadonlyMap<string, Add>;
  /** What was done, by application id. */
  readonly txns: ReadonlyMap<string, Txn>;
  /** The files that were written for an account. */
  filesOf(account: string): Iterable<Add>;
  /** Those of them that a pipeline wrote and that hold any of these load keys. */
  filesWith(account: string, pipeline: string, loadKeys: Iterable<string>): Add[];
  /** The files that have this path in the log but for a number behind the name. */
  numbered(path: string): Iterable<Add>;
  /** The transactions of an account. */
  txnsOf(account: string): Iterable<Txn>;
  /** The load keys that a pipeline has read for an account. */
  loadKeysOf(account: string, pipeline: string): ReadonlyMap<string, Txn>;
  /** Accounts that have transactions. */
  accounts(): Iterable<string>;
  /** The file with this path, decoded, below the table's folder. */
  fileAt(decodedPath: string): Add | undefined;
  /** How many of the table's files name a derived file, by its path within the lake. */
  referenceCount(path: string): number;
  /** The derived files that the table's files name, as paths within the lake. */
  readonly referenced: Iterable<string>;
  /** The files of lasting tables that the log has named for good, as paths within the lake. */
  readonly pinned: ReadonlySet<string>;
}

/** A snapshot that takes what commits say. */
export class LiveSnapshot implements Snapshot {
  version = -1;
  readonly #files = new ByAccount<Add>(accountOf);
  readonly #txns = new ByAccount<Txn>(({ appId }) => accountOfTxn(appId));
  /** The load keys that count as read, with their transactions. */
  readonly #loadedKeys = new ByLoadKey<Txn>();
  /** The files that hold rows of a load key, so that a commit needn't go through all of an account. */
  readonly #filesByKey = new ByLoadKey<readonly Add[]>();
  /** Files that have a number behind the name, by the path without it and by their own. */
  readonly #numbered = new Map<string, Map<string, Add>>();
  /** Files whose path is encoded, by their path once it is decoded. */
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
      for (const add of this.filesOf(account)) this.#noteFile(add);
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

  /** Forgets a transaction, which no commit can do. */
  forget(txn: Txn): void {
    this.#txns.delete(txn.appId);
    this.#noteTxn({ ...txn, version: -1 });
    const path = referencedByTxn(txn.appId);
    if (path !== undefined) this.#pinned.delete(path);
  }

  #noteTxn(txn: Txn): void {
    // A log has very many of them when it is opened, and nobody has asked yet.
    if (!this.#loadedKeys.has(accountOfTxn(txn.appId) ?? '')) return;
    const read = parseAppId(txn.appId);
    if (read === undefined) return;
    this.#loadedKeys.change(read.account, read.pipeline, read.loadKey, () => (countsAsLoaded(txn) ? txn : undefined));
  }

  #noteFile(add: Add): void {
    this.#changeFiles(add, (files) => [...files, add]);
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
    // A file that is added again keeps its position: whoever goes through the files meanwhile doesn't meet it twice.
    if (before !== undefined && accountOf(before) === accountOf(add)) this.#disregard(before);
    else this.#remove(path);
    this.#files.set(path, add);
    this.#noteFile(add);
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

  /** Drops what the file says of load keys and other files. */
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

/** Values by their key, and by their account where they have one. */
class ByAccount<T> {
  readonly all = new Map<string, T>();
  readonly #accountOf: (value: T) => string | undefined;
  /** Built at the first question: who only reads a lake doesn't ask. */
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

/**
 * Values by account, pipeline and load key, of the accounts that were asked for: what a commit asks of them takes no longer
 * however many there are.
 */
class ByLoadKey<T> {
  readonly #byAccount = new Map<string, Map<string, Map<string, T>>>();

  has(account: string): boolean {
    return this.#byAccount.has(account);
  }

  /** Those of an account and a pipeline; `fill` adds all of the account, the first time. */
  of(account: string, pipeline: string, fill: () => void): ReadonlyMap<string, T> | undefined {
    if (!this.#byAccount.has(account)) {
      this.#byAccount.set(account, new Map<string, Map<string, T>>());
      fill();
    }
    return this.#byAccount.get(account)?.get(pipeline);
  }

  /** Changes a value of an account that was asked for; undefined: there is none. */
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
