import type { Action, Add, Txn } from './actions.js';
import { ByAccount, LoadedKeys, FilesByLoadKey } from './snapshot-indexes.js';
import { accountOf, derivedOf } from './file-tags.js';
import { unnumbered } from './log-paths.js';
import { accountOfTxn, referencedByTxn } from './load-key-ids.js';

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
  /** What was done for an account. */
  txnsOf(account: string): Iterable<Txn>;
  /** The load keys that a pipeline has read for an account. */
  loadKeysOf(account: string, pipeline: string): ReadonlyMap<string, Txn>;
  /** Accounts that something was done for. */
  accounts(): Iterable<string>;
  /** The file with this path once it is decoded: where it lies below the table's folder. */
  fileAt(place: string): Add | undefined;
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
  readonly #loadedKeys = new LoadedKeys();
  readonly #filesByKey = new FilesByLoadKey();
  /** Files that have a number behind the name, by the path without it and by their own. */
  readonly #numbered = new Map<string, Map<string, Add>>();
  /** Files whose path is encoded, by their path once it is decoded. */
  readonly #places = new Map<string, Add>();
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
    return this.#filesByKey.with(account, pipeline, loadKeys, (of) => this.filesOf(of));
  }

  numbered(path: string): Iterable<Add> {
    return this.#numbered.get(path)?.values() ?? [];
  }

  txnsOf(account: string): Iterable<Txn> {
    return this.#txns.of(account);
  }

  loadKeysOf(account: string, pipeline: string): ReadonlyMap<string, Txn> {
    return this.#loadedKeys.of(account, pipeline, (of) => this.txnsOf(of));
  }

  accounts(): Iterable<string> {
    return this.#txns.accounts();
  }

  fileAt(place: string): Add | undefined {
    return this.#places.get(place) ?? (isEncoded(place) ? undefined : this.#files.all.get(place));
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
    for (const held of [this.#files, this.#filesByKey, this.#numbered, this.#places, this.#references]) held.clear();
    for (const held of [this.#txns, this.#loadedKeys, this.#pinned]) held.clear();
  }

  apply(action: Action): void {
    if ('add' in action) {
      this.#add(action.add);
    } else if ('remove' in action) {
      this.#remove(action.remove.path);
    } else if ('txn' in action) {
      const { txn } = action;
      this.#txns.set(txn.appId, txn);
      this.#loadedKeys.note(txn);
      const path = referencedByTxn(txn.appId);
      if (path !== undefined) this.#pinned.add(path);
    }
  }

  /** Forgets a transaction, which no commit can do. */
  forget(txn: Txn): void {
    this.#txns.delete(txn.appId);
    this.#loadedKeys.forget(txn);
    const path = referencedByTxn(txn.appId);
    if (path !== undefined) this.#pinned.delete(path);
  }

  #add(add: Add): void {
    const { path } = add;
    const before = this.#files.all.get(path);
    // A file that is added again keeps its place: whoever goes through the files meanwhile doesn't meet it twice.
    if (before !== undefined && accountOf(before) === accountOf(add)) this.#disregard(before);
    else this.#remove(path);
    this.#files.set(path, add);
    this.#filesByKey.note(add);
    if (isEncoded(path)) this.#places.set(decodeURIComponent(path), add);
    const own = unnumbered(path);
    if (own !== undefined) this.#numbered.set(own, (this.#numbered.get(own) ?? new Map<string, Add>()).set(path, add));
    for (const named of derivedOf(add) ?? []) this.#references.set(named, this.referenceCount(named) + 1);
  }

  #remove(path: string): void {
    const add = this.#files.all.get(path);
    if (add === undefined) return;
    this.#files.delete(path);
    if (isEncoded(path)) this.#places.delete(decodeURIComponent(path));
    const own = unnumbered(path) ?? '';
    this.#numbered.get(own)?.delete(path);
    if (this.#numbered.get(own)?.size === 0) this.#numbered.delete(own);
    this.#disregard(add);
  }

  /** What the file says of load keys and other files holds no longer. */
  #disregard(add: Add): void {
    this.#filesByKey.forget(add);
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
