import type { Action, Add, Txn } from './actions.js';
import { accountOf, derivedOf, accountOfTxn, referencedByTxn, isLoaded, parseAppId, loadKeysOf } from './file-tags.js';
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

/** Things by their key, and by the account that they are of, where they are of one. */
export class ByAccount<T> {
  readonly all = new Map<string, T>();
  readonly #accountOf: (thing: T) => string | undefined;
  /** Made when it is asked for: who only reads a lake doesn't ask. */
  #byAccount: Map<string, Map<string, T>> | undefined;

  constructor(accountOf: (thing: T) => string | undefined) {
    this.#accountOf = accountOf;
  }

  of(account: string): Iterable<T> {
    return this.#own().get(account)?.values() ?? [];
  }

  accounts(): Iterable<string> {
    return this.#own().keys();
  }

  set(key: string, thing: T): void {
    this.all.set(key, thing);
    if (this.#byAccount !== undefined) this.#note(this.#byAccount, key, thing);
  }

  clear(): void {
    this.all.clear();
    this.#byAccount = undefined;
  }

  delete(key: string): void {
    const thing = this.all.get(key);
    this.all.delete(key);
    const account = thing === undefined ? undefined : this.#accountOf(thing);
    if (account === undefined || this.#byAccount === undefined) return;
    const own = this.#byAccount.get(account);
    own?.delete(key);
    if (own?.size === 0) this.#byAccount.delete(account);
  }

  #own(): ReadonlyMap<string, Map<string, T>> {
    if (this.#byAccount !== undefined) return this.#byAccount;
    const made = new Map<string, Map<string, T>>();
    for (const [key, thing] of this.all) this.#note(made, key, thing);
    return (this.#byAccount = made);
  }

  #note(byAccount: Map<string, Map<string, T>>, key: string, thing: T): void {
    const account = this.#accountOf(thing);
    if (account === undefined) return;
    const own = byAccount.get(account);
    if (own === undefined) byAccount.set(account, new Map([[key, thing]]));
    else own.set(key, thing);
  }
}

type ByPipeline = Map<string, Map<string, Txn>>;

const none: ReadonlyMap<string, Txn> = new Map();

/**
 * The load keys that count as read, by account and pipeline, with their transactions. Only of accounts that were asked for; what
 * a commit asks of them takes no longer however many there are.
 */
export class LoadedKeys {
  readonly #byAccount = new Map<string, ByPipeline>();

  /** Those of an account and a pipeline; `txns` gives all that was done for the account, the first time. */
  of(account: string, pipeline: string, txns: (account: string) => Iterable<Txn>): ReadonlyMap<string, Txn> {
    let own = this.#byAccount.get(account);
    if (own === undefined) {
      this.#byAccount.set(account, (own = new Map<string, Map<string, Txn>>()));
      for (const txn of txns(account)) noteTxn(own, txn);
    }
    return own.get(pipeline) ?? none;
  }

  /** Takes in a transaction, or what has become of one. */
  note(txn: Txn): void {
    const own = this.#byAccount.get(accountOfTxn(txn.appId) ?? '');
    if (own !== undefined) noteTxn(own, txn);
  }

  forget(txn: Txn): void {
    this.note({ ...txn, version: -1 });
  }

  clear(): void {
    this.#byAccount.clear();
  }
}

function noteTxn(own: ByPipeline, txn: Txn): void {
  const read = parseAppId(txn.appId);
  if (read === undefined) return;
  let loadKeys = own.get(read.pipeline);
  if (loadKeys === undefined) own.set(read.pipeline, (loadKeys = new Map<string, Txn>()));
  if (isLoaded(txn)) loadKeys.set(read.loadKey, txn);
  else loadKeys.delete(read.loadKey);
}

type ByLoadKey = Map<string, readonly Add[]>;

/**
 * Files by the load keys whose rows they hold, so that a commit needn't go through all files of an account. Only of accounts that
 * were asked for.
 */
export class FilesByLoadKey {
  readonly #byAccount = new Map<string, Map<string, ByLoadKey>>();

  /** Those of an account and a pipeline that hold any of the load keys; `files` gives all of the account, the first time. */
  with(
    account: string,
    pipeline: string,
    loadKeys: Iterable<string>,
    files: (account: string) => Iterable<Add>,
  ): Add[] {
    let own = this.#byAccount.get(account);
    if (own === undefined) {
      this.#byAccount.set(account, (own = new Map<string, ByLoadKey>()));
      for (const add of files(account)) noteFile(own, add);
    }
    const byLoadKey = own.get(pipeline);
    if (byLoadKey === undefined) return [];
    const found = new Set<Add>();
    for (const loadKey of loadKeys) for (const add of byLoadKey.get(loadKey) ?? []) found.add(add);
    return [...found];
  }

  note(add: Add): void {
    const own = this.#byAccount.get(accountOf(add) ?? '');
    if (own !== undefined) noteFile(own, add);
  }

  forget(add: Add): void {
    const byLoadKey = this.#byAccount.get(accountOf(add) ?? '')?.get(add.tags?.['pipeline'] ?? '');
    if (byLoadKey === undefined) return;
    for (const loadKey of loadKeysOf(add)) {
      const left = byLoadKey.get(loadKey)?.filter((other) => other !== add) ?? [];
      if (left.length > 0) byLoadKey.set(loadKey, left);
      else byLoadKey.delete(loadKey);
    }
  }

  clear(): void {
    this.#byAccount.clear();
  }
}

function noteFile(own: Map<string, ByLoadKey>, add: Add): void {
  const pipeline = add.tags?.['pipeline'] ?? '';
  let byLoadKey = own.get(pipeline);
  if (byLoadKey === undefined) own.set(pipeline, (byLoadKey = new Map<string, readonly Add[]>()));
  for (const loadKey of loadKeysOf(add)) byLoadKey.set(loadKey, [...(byLoadKey.get(loadKey) ?? []), add]);
}
