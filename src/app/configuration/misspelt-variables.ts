import { variableOf, variableSuffix, type Environment } from '../../core/environment.js';
import { nearestName } from '../../core/text/fault-line.js';
import { Secret } from '../../engine/auth/secret.js';
import { accountVariables } from './account-settings.js';
import type { Configuration } from './configuration.js';
import { settingDefinitions, settingVariable, type SettingDefinition } from './setting-definitions.js';

const prefix = 'LEDGERLAKE_';

/** The variables that the program reads, without those of the accounts. */
const variables = [
  ...Object.entries<SettingDefinition>(settingDefinitions).flatMap(([name, { read }]) =>
    read === undefined ? [] : settingVariable(name),
  ),
  ...['ACCOUNT', 'CONFIG', 'SERVE_CLIENT_ID', 'SERVE_CLIENT_SECRET'].map((name) => prefix + name),
];

/**
 * The variables of the environment that nothing reads and that resemble one that is read. A variable that resembles none may be
 * another program's, and so may one that the configuration names.
 */
export function misspeltVariables(
  environment: Environment,
  { accounts }: Configuration,
): readonly { readonly variable: string; readonly nearest: string }[] {
  const ofAccounts: readonly string[] = Object.values(accountVariables);
  const suffixes = [...accounts.keys(), variableOf(environment, 'LEDGERLAKE_ACCOUNT') ?? ''].map((account) =>
    account === '' ? '' : variableSuffix(account),
  );
  const known = [...variables, ...ofAccounts, ...suffixes.flatMap((suffix) => ofAccounts.map((name) => name + suffix))]
    // The common beginning would make all names alike.
    .map((name) => name.slice(prefix.length));
  const named = [...accounts.values()].flatMap(({ secrets = {}, clientId, clientSecret, refreshToken }) => [
    ...Object.keys(secrets),
    ...[clientId, clientSecret, refreshToken, ...Object.values(secrets)].flatMap((source) =>
      source === undefined || source instanceof Secret || !('env' in source) ? [] : [source.env],
    ),
  ]);
  return Object.keys(environment).flatMap((variable) => {
    const isRead =
      !variable.startsWith(prefix) ||
      known.includes(variable.slice(prefix.length)) ||
      [...ofAccounts, ...named].some((name) => variable === name || variable.startsWith(`${name}_`));
    const nearest = isRead ? undefined : nearestName(variable.slice(prefix.length), known);
    return nearest === undefined ? [] : [{ variable, nearest: prefix + nearest }];
  });
}
