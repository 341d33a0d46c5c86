import type { Txn, Add } from './actions.js';
import { accountOfTxn, isLoaded, parseAppId } from './load-key-ids.js';
import { accountOf, loadKeysOf } from './file-tags.js';

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
