import type { Action, Add, Txn } from './actions.js';
import { derivedOf } from './file-tags.js';
import { ReadUnits } from './read-units.js';
import { accountOfTxn, namedByTxn } from './unit-ids.js';

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
  /** What was done for an account. */
  txnsOf(account: string): Iterable<Txn>;
  /** The units that a pipeline has read for an account. */
  unitsOf(account: string, pipeline: string): ReadonlyMap<string, Txn>;
  /** Accounts that something was done for. */
  accounts(): Iterable<string>;
  /** The file with this path once it is decoded: where it lies below the table's folder. */
  fileAt(place: string): Add | undefined;
  /** How many of the table's files name a derived file, by its path within the lake. */
  timesNamed(path: string): number;
  /** The derived files that the table's files name, as paths within the lake. */
  readonly named: Iterable<string>;
  /** The files of lasting tables that the log has named for good, as paths within the lake. */
  readonly lastingNames: ReadonlySet<string>;
}

/** A snapshot that takes what commits say. */
export class LiveSnapshot implements Snapshot {
  version = -1;
  readonly #files = new ByAccount<Add>(({ tags }) => tags?.['account']);
  readonly #txns = new ByAccount<Txn>(({ appId }) => accountOfTxn(appId));
  readonly #units = new ReadUnits();
  readonly #places = new Map<string, Add>();
  readonly #named = new Map<string, number>();
  readonly #lastingNames = new Set<string>();

  get files(): ReadonlyMap<string, Add> {
    return this.#files.all;
  }

  get txns(): ReadonlyMap<string, Txn> {
    return this.#txns.all;
  }

  filesOf(account: string): Iterable<Add> {
    return this.#files.of(account);
  }

  txnsOf(account: string): Iterable<Txn> {
    return this.#txns.of(account);
  }

  unitsOf(account: string, pipeline: string): ReadonlyMap<string, Txn> {
    return this.#units.of(account, pipeline, (of) => this.txnsOf(of));
  }

  accounts(): Iterable<string> {
    return this.#txns.accounts();
  }

  fileAt(place: string): Add | undefined {
    return this.#places.get(place);
  }

  timesNamed(path: string): number {
    return this.#named.get(path) ?? 0;
  }

  get named(): Iterable<string> {
    return this.#named.keys();
  }

  get lastingNames(): ReadonlySet<string> {
    return this.#lastingNames;
  }

  clear(): void {
    this.version = -1;
    for (const held of [this.#files, this.#txns, this.#units, this.#places, this.#named, this.#lastingNames])
      held.clear();
  }

  apply(action: Action): void {
    if ('add' in action) {
      const { add } = action;
      const account = add.tags?.['account'];
      const before = this.#files.all.get(add.path);
      // A file that is added again keeps its place: whoever goes through the files meanwhile doesn't meet it twice.
      if (before?.tags?.['account'] === account) this.#unname(before);
      else this.#remove(add.path);
      this.#files.set(add.path, add);
      this.#places.set(decoded(add.path), add);
      for (const path of derivedOf(add) ?? []) this.#named.set(path, this.timesNamed(path) + 1);
    } else if ('remove' in action) {
      this.#remove(action.remove.path);
    } else if ('txn' in action) {
      const { txn } = action;
      this.#txns.set(txn.appId, txn);
      this.#units.note(txn);
      const path = namedByTxn(txn.appId);
      if (path !== undefined) this.#lastingNames.add(path);
    }
  }

  /** Forgets a transaction, which no commit can do. */
  forget(txn: Txn): void {
    this.#txns.delete(txn.appId);
    this.#units.forget(txn);
    const path = namedByTxn(txn.appId);
    if (path !== undefined) this.#lastingNames.delete(path);
  }

  #remove(path: string): void {
    const add = this.#files.all.get(path);
    if (add === undefined) return;
    this.#files.delete(path);
    this.#places.delete(decoded(path));
    this.#unname(add);
  }

  #unname(add: Add | undefined): void {
    for (const named of (add && derivedOf(add)) ?? []) {
      const times = this.timesNamed(named) - 1;
      if (times > 0) this.#named.set(named, times);
      else this.#named.delete(named);
    }
  }
}

/** Hardly a path has anything to decode. */
function decoded(path: string): string {
  return path.includes('%') ? decodeURIComponent(path) : path;
}

/** Things by their key, and by the account that they are of, where they are of one. */
class ByAccount<T> {
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
