import type { Txn } from './actions.js';
import { accountOfTxn, isLoaded, parseAppId } from './load-key-ids.js';

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
      for (const txn of txns(account)) note(own, txn);
    }
    return own.get(pipeline) ?? none;
  }

  /** Takes in a transaction, or what has become of one. */
  note(txn: Txn): void {
    const own = this.#byAccount.get(accountOfTxn(txn.appId) ?? '');
    if (own !== undefined) note(own, txn);
  }

  forget(txn: Txn): void {
    this.note({ ...txn, version: -1 });
  }

  clear(): void {
    this.#byAccount.clear();
  }
}

function note(own: ByPipeline, txn: Txn): void {
  const read = parseAppId(txn.appId);
  if (read === undefined) return;
  let loadKeys = own.get(read.pipeline);
  if (loadKeys === undefined) own.set(read.pipeline, (loadKeys = new Map<string, Txn>()));
  if (isLoaded(txn)) loadKeys.set(read.loadKey, txn);
  else loadKeys.delete(read.loadKey);
}
