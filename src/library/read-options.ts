import type { SecretCredentials } from '../app/configuration/account-settings.js';
import { readRunSettings, type RunSettings } from '../app/load/run-settings.js';
import { Secret } from '../engine/auth/secret.js';
import { optionText, type BackfillOptions, type Credentials } from './options.js';

/**
 * The settings from the options, the environment and the configuration.
 *
 * @throws LedgerlakeError USAGE for an invalid value in any of them
 */
export async function readOptions(options: BackfillOptions): Promise<RunSettings> {
  const { pipelines = [], pipelineFolder, credentials } = options;
  const { lake, from, account, endpoint, api, rate, burst, journal, config } = options;
  const given = {
    ...{ lake, from, account, endpoint, api, rate, burst, journal, config },
    pipelines: pipelineFolder,
    'retention-hours': options.retentionHours,
    // An empty list replaces the setting.
    export: options.export && (options.export.join(',') || 'none'),
  };
  return readRunSettings({
    texts: Object.fromEntries(Object.entries(given).map(([name, value]) => [name, optionText(value)])),
    environment: process.env,
    workingFolder: process.cwd(),
    pipelines,
    credentials: credentials && secretsOf(credentials),
    // Imported only by a run that needs it.
    startEmbedded: async (clock) => (await import('../emulator/emulator.js')).startEmbeddedService(clock),
  });
}

function secretsOf({ clientId, clientSecret, refreshToken, tokenEndpoint }: Credentials): SecretCredentials {
  return {
    clientId: new Secret(clientId),
    clientSecret: new Secret(clientSecret),
    refreshToken: new Secret(refreshToken),
    tokenEndpoint,
  };
}
