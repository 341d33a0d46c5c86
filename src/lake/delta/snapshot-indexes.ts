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
