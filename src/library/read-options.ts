import type { SecretCredentials } from '../app/configuration/account-settings.js';
import { readOrders } from '../app/configuration/chosen-pipelines.js';
import { readRunSettings } from '../app/load/run-settings.js';
import { Secret } from '../engine/auth/secret.js';
import { readLoadOptions, type LoadValues } from '../engine/run/load-options.js';
import type { BackfillOptions, Credentials, SyncOptions } from './options.js';
import { callSettingSources } from './settings.js';

/**
 * What a run is given by its options, the environment and the configuration.
 *
 * @throws LedgerlakeError USAGE for an invalid value in any of them
 */
export async function readOptions(options: BackfillOptions & SyncOptions) {
  const { pipelines = [], credentials } = options;
  const settings = await readRunSettings({
    ...callSettingSources(options),
    pipelines,
    credentials: credentials && secretsOf(credentials),
    // Imported only by a run that needs it.
    startEmbedded: async (clock) => (await import('../emulator/emulator.js')).startEmbeddedService(clock),
  });
  return { ...settings, pipelines };
}

/**
 * What a load is given, as `readOptions`, and by the options of loads.
 *
 * @throws LedgerlakeError USAGE for an invalid value in any of them
 */
export async function readLoad(command: 'backfill' | 'sync', options: BackfillOptions & SyncOptions) {
  const { orders, ...values }: LoadValues = options;
  // Errors name the line, as for the file of `--orders`.
  const ids = orders && readOrders(orders.join('\n'), 'the option orders');
  const given: LoadValues = { ...values, orders: ids };
  return { ...(await readOptions(options)), ...readLoadOptions(command, (name) => given[name]) };
}

function secretsOf({ clientId, clientSecret, refreshToken, tokenEndpoint }: Credentials): SecretCredentials {
  return {
    clientId: new Secret(clientId),
    clientSecret: new Secret(clientSecret),
    refreshToken: new Secret(refreshToken),
    tokenEndpoint,
  };
}
