import { runSettings } from '../../src/app/configuration/setting-definitions.js';
import type { Account } from './account.js';
import { isDone } from './backlog.js';
import type { Told } from './told.js';

/** Days of the look-backs that aren't made each night. */
const longLookBacks = runSettings.lookBack.default.filter(({ everyDays }) => everyDays > 0).map(({ days }) => days);

/** What was asked for and isn't done. */
export class OpenWork {
  readonly #told: Told;
  /** When syncs were asked for. */
  readonly #syncs = new Map<Account, readonly number[]>();
  readonly #backfilled = new Set<Account>();

  constructor(told: Told) {
    this.#told = told;
  }

  syncAsked(account: Account, at: number): void {
    this.#syncs.set(account, [...(this.#syncs.get(account) ?? []), at]);
  }

  /** When syncs were asked for that aren't done; of accounts that aren't refused. */
  notSynced(): readonly number[] {
    return [...this.#syncs].flatMap(([{ isDenied }, asked]) => (isDenied ? [] : asked));
  }

  /** Notes, and tells of, an account's work that has come to its end. */
  tellDone(account: Account, now: number): void {
    const { sync, lookedBack } = account;
    if (sync !== undefined && isDone(sync.backlogs)) {
      account.coveredTo = sync.end;
      for (const days of longLookBacks) if (sync.lookBack >= days) lookedBack.set(days, now);
      account.sync = undefined;
      const asked = this.#syncs.get(account) ?? [];
      for (const at of asked) if (at <= sync.end) this.#told.syncDone?.(account, at, now);
      this.#syncs.set(
        account,
        asked.filter((at) => at > sync.end),
      );
    }
    if (isDone(account.backfill) && !this.#backfilled.has(account)) {
      this.#backfilled.add(account);
      account.isCurrent = true;
      for (const days of longLookBacks) lookedBack.set(days, now);
      this.#told.backfillDone?.(account, now);
    }
  }
}
