import type { Add } from './actions.js';
import { accountOf, loadKeysOf } from './file-tags.js';

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
      for (const add of files(account)) note(own, add);
    }
    const byLoadKey = own.get(pipeline);
    if (byLoadKey === undefined) return [];
    const found = new Set<Add>();
    for (const loadKey of loadKeys) for (const add of byLoadKey.get(loadKey) ?? []) found.add(add);
    return [...found];
  }

  note(add: Add): void {
    const own = this.#byAccount.get(accountOf(add) ?? '');
    if (own !== undefined) note(own, add);
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

function note(own: Map<string, ByLoadKey>, add: Add): void {
  const pipeline = add.tags?.['pipeline'] ?? '';
  let byLoadKey = own.get(pipeline);
  if (byLoadKey === undefined) own.set(pipeline, (byLoadKey = new Map<string, readonly Add[]>()));
  for (const loadKey of loadKeysOf(add)) byLoadKey.set(loadKey, [...(byLoadKey.get(loadKey) ?? []), add]);
}
