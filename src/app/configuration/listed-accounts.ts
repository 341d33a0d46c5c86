import type { Configuration } from './configuration.js';
import { variableOf, type Environment } from '../../core/environment.js';

/** The accounts that the file configures, and the one that is named as the default, in the order of their names. */
export function listedAccounts({ accounts, settings }: Configuration, environment: Environment): readonly string[] {
  const named = variableOf(environment, 'LEDGERLAKE_ACCOUNT') ?? settings.account;
  return [...new Set([...accounts.keys(), ...(named === undefined ? [] : [named])])].toSorted();
}
