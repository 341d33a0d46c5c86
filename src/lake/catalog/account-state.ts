import { DataFile, lakePathOf } from '../delta/data-file.js';
import { catalogError, type Add } from '../delta/actions.js';
import { accountOf, accountOfPath, type Change, type RemovedFile } from './change.js';
import type { LoadKey, LoadKeyId } from './load-key.js';

/** What a version changes of one account. */
export interface AccountChange {
  readonly version: number;
  /** When replaced files were replaced, where they are kept for readers of older versions; otherwise undefined. */
  readonly retiredAt: number | undefined;
  readonly add: { readonly table: string; readonly file: Add }[];
  readonly remove: { readonly table: string; readonly file: RemovedFile }[];
  readonly set: LoadKey[];
  readonly delete: LoadKeyId[];
  readonly deleted: string[];
  /** As `Change.forgotten`; undefined: unchanged. */
  forgottenBefore?: number | null;
}

/** A commit by account. */
export function byAccount(change: Change, version: number, retiredAt: number | undefined): Map<string, AccountChange> {
  const accounts = new Map<string, AccountChange>();
  const changeOf = (account: string): AccountChange => {
    let found = accounts.get(account);
    if (found === undefined) {
      found = { version, retiredAt, add: [], remove: [], set: [], delete: [], deleted: [] };
      accounts.set(account, found);
    }
    return found;
  };
  for (const [table, { add = [], remove = [] }] of Object.entries(change.tables ?? {})) {
    for (const file of remove) changeOf(accountOf(file)).remove.push({ table, file });
    for (const file of add) changeOf(accountOf(file)).add.push({ table, file });
  }
  for (const id of change.keys?.delete ?? []) changeOf(id.account).delete.push(id);
  for (const key of change.keys?.set ?? []) changeOf(key.account).set.push(key);
  for (const path of change.deleted ?? []) changeOf(accountOfPath(path) ?? '').deleted.push(path);
  for (const [account, before] of Object.entries(change.forgotten ?? {})) changeOf(account).forgottenBefore = before;
  return accounts;
}

/** What the lake has of an account. */
export interface AccountContent {
  /** By table, then by the path in its log. */
  readonly files: ReadonlyMap<string, ReadonlyMap<string, DataFile>>;
  /** By pipeline, then by key. */
  readonly keys: ReadonlyMap<string, ReadonlyMap<string, LoadKey>>;
  /** Replaced files that are kept, by their path within the lake, with when they were replaced. */
  readonly retired: ReadonlyMap<string, number>;
  /** The instant before which its rows are forgotten, in milliseconds since 1970: a window without its rows looks like an empty one. */
  readonly forgottenBefore: number | undefined;
}

/** An account's part of a checkpoint. */
export interface AccountBlock {
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes. */
  readonly sha256: string;
  /** Bytes of its content. */
  readonly size: number;
  /** @throws LedgerlakeError LAKE_LOG where its bytes have changed */
  readonly decode: () => AccountContent;
}

const noContent: AccountContent = { files: new Map(), keys: new Map(), retired: new Map(), forgottenBefore: undefined };

/**
 * An account in a snapshot; it never changes. Of a checkpoint it is a block that is decoded when somebody asks, and
 * to which the changes of later commits are applied then: so a lake of very many accounts opens fast, and a damaged
 * block costs its own account only.
 */
export class AccountState {
  static readonly none = new AccountState(noContent, undefined, []);
  #content: AccountContent | undefined;
  #block: AccountBlock | undefined;
  /** Changes that were not yet applied to the block. */
  #changes: readonly AccountChange[];

  private constructor(
    content: AccountContent | undefined,
    block: AccountBlock | undefined,
    changes: readonly AccountChange[],
  ) {
    this.#content = content;
    this.#block = block;
    this.#changes = changes;
  }

  static ofBlock(block: AccountBlock): AccountState {
    return new AccountState(undefined, block, []);
  }

  /**
   * Decoded at the first call.
   *
   * @throws LedgerlakeError LAKE_LOG where its block of the checkpoint is damaged, or a later commit doesn't follow
   */
  get content(): AccountContent {
    if (this.#content !== undefined) return this.#content;
    this.#content = applied(this.#block?.decode() ?? noContent, this.#changes);
    if (this.#changes.length > 0) this.#block = undefined;
    this.#changes = [];
    return this.#content;
  }

  /** Its block of a checkpoint; undefined where something was changed since. */
  get block(): AccountBlock | undefined {
    return this.#changes.length === 0 ? this.#block : undefined;
  }

  /** The block that a checkpoint was written with, for the next one to copy. */
  written(block: AccountBlock): void {
    this.#block = block;
    this.#changes = [];
  }

  get isEmpty(): boolean {
    if (this.block !== undefined) return false;
    const { files, keys, retired, forgottenBefore } = this.content;
    return files.size + keys.size + retired.size === 0 && forgottenBefore === undefined;
  }

  /** Whether changes were left for the first query. */
  get isDecoded(): boolean {
    return this.#content !== undefined;
  }

  /** @throws LedgerlakeError LAKE_LOG where the account is decoded, and a change doesn't follow */
  with(changes: readonly AccountChange[]): AccountState {
    if (this.#content === undefined) return new AccountState(undefined, this.#block, [...this.#changes, ...changes]);
    return new AccountState(applied(this.#content, changes), undefined, []);
  }
}

/** The content with the changes; what none of them touches is shared. */
function applied(content: AccountContent, changes: readonly AccountChange[]): AccountContent {
  if (changes.length === 0) return content;
  const files = new CopiedMaps(content.files);
  const keys = new CopiedMaps(content.keys);
  const retired = new Map(content.retired);
  let { forgottenBefore } = content;
  for (const { version, retiredAt, ...change } of changes) {
    const wrong = (what: string) => catalogError(`expected version ${version} of the catalog to follow, it ${what}`);
    for (const { table, file } of change.remove) {
      const path = lakePathOf(table, file);
      if (!files.of(table).delete(file.path)) throw wrong(`removes ${path}, which is not there`);
      if (retiredAt !== undefined) retired.set(path, retiredAt);
    }
    for (const { table, file } of change.add) {
      const added = files.of(table);
      if (added.has(file.path)) throw wrong(`adds ${lakePathOf(table, file)} twice`);
      added.set(file.path, new DataFile(file, table));
    }
    for (const { pipeline, key } of change.delete) {
      if (!keys.of(pipeline).delete(key)) throw wrong(`deletes the load key ${pipeline}/${key}, which is not there`);
    }
    for (const key of change.set) keys.of(key.pipeline).set(key.key, { ...key, version });
    for (const path of change.deleted) {
      if (!retired.delete(path)) throw wrong(`deletes ${path}, which is not retained`);
    }
    if (change.forgottenBefore !== undefined) forgottenBefore = change.forgottenBefore ?? undefined;
  }
  return { files: files.all(), keys: keys.all(), retired, forgottenBefore };
}

/** Maps of maps, of which those that are changed are copied, each once. */
class CopiedMaps<T> {
  readonly #outer: Map<string, ReadonlyMap<string, T>>;
  readonly #copies = new Map<string, Map<string, T>>();

  constructor(from: ReadonlyMap<string, ReadonlyMap<string, T>>) {
    this.#outer = new Map(from);
  }

  of(name: string): Map<string, T> {
    let copy = this.#copies.get(name);
    if (copy === undefined) this.#copies.set(name, (copy = new Map(this.#outer.get(name))));
    return copy;
  }

  all(): ReadonlyMap<string, ReadonlyMap<string, T>> {
    for (const [name, copy] of this.#copies) {
      if (copy.size > 0) this.#outer.set(name, copy);
      else this.#outer.delete(name);
    }
    return this.#outer;
  }
}
