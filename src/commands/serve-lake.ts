import type { Clock } from '../clock.js';
import { usageError } from '../errors.js';
import { openStore } from '../lake/open-store.js';
import { readAccountName } from '../options/account.js';
import { LakeLedger } from '../replica/lake-ledger.js';
import { MainTables } from '../replica/main-tables.js';
import type { Health } from '../service/side-pages.js';

/** A ledger with what there is to say of it. */
export interface ServedLake {
  readonly ledger: LakeLedger;
  readonly account: string;
  /** Reads the lake's newest version. Throws where it can't be read. */
  readonly look: () => Promise<Health>;
}

/**
 * Opens a lake to serve one account's events.
 *
 * @throws LedgerlakeError USAGE for a lake that holds nothing, or several accounts and none was chosen, or not the one that
 * was; LAKE_STORE, LAKE_LOG where it can't be read
 */
export async function openServedLake(location: string, account: string | undefined, clock: Clock): Promise<ServedLake> {
  if (account !== undefined) readAccountName(account);
  const tables = await MainTables.open(openStore(location, { clock }), clock);
  const served = chosenAccount(location, account, [...tables.accounts()].toSorted());
  const look = async (): Promise<Health> => {
    await tables.refresh();
    return { serves: 'lake', account: served, tables: tables.versions() };
  };
  return { ledger: await LakeLedger.open(tables, served), account: served, look };
}

function chosenAccount(location: string, account: string | undefined, held: readonly string[]): string {
  const [first, ...others] = held;
  if (first === undefined) {
    throw usageError(
      `expected a lake with events in ${location}, it holds none yet: \`ledgerlake backfill\` loads them`,
    );
  }
  if (account === undefined && others.length === 0) return first;
  if (account !== undefined && held.includes(account)) return account;
  const asked = account === undefined ? 'which account to serve' : `an account that the lake holds, got ${account}`;
  throw usageError(`expected --account to say ${asked}: ${location} holds ${held.join(', ')}`);
}
