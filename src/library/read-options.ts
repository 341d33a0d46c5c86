import type { SecretCredentials } from '../app/configuration/account-settings.js';
import type { EmbeddedService } from '../app/load/connections.js';
import { readRunSettings, type RunSettings } from '../app/load/run-settings.js';
import type { Clock } from '../core/clock.js';
import { Secret } from '../engine/auth/secret.js';
import { textOf, type AccountOptions, type Credentials } from './options.js';

/** Options that are settings of a run, as the command line has them. */
interface SettingOptions extends AccountOptions {
  readonly pipelines?: readonly string[] | undefined;
  readonly lake?: string | undefined;
  readonly from?: string | Date | undefined;
  readonly api?: string | undefined;
  readonly journal?: string | undefined;
  readonly pipelineFolder?: string | undefined;
  readonly retentionHours?: number | undefined;
  readonly export?: readonly string[] | undefined;
}

/**
 * The settings that options, environment and configuration lead to.
 *
 * @throws LedgerlakeError USAGE for what is wrong in any of them
 */
export async function readOptions(options: SettingOptions): Promise<RunSettings> {
  const { pipelines = [], pipelineFolder, credentials } = options;
  const { lake, from, account, endpoint, api, rate, burst, journal, config } = options;
  const given = {
    ...{ lake, from, account, endpoint, api, rate, burst, journal, config },
    pipelines: pipelineFolder,
    'retention-hours': options.retentionHours,
    // An empty list is not what is set, but nothing.
    export: options.export && (options.export.join(',') || 'none'),
  };
  return readRunSettings({
    texts: Object.fromEntries(Object.entries(given).map(([name, value]) => [name, textOf(value)])),
    environment: process.env,
    workingFolder: process.cwd(),
    pipelines,
    credentials: credentials && hidden(credentials),
    startEmbedded,
  });
}

/** Credentials that no log can show. */
function hidden({ clientId, clientSecret, refreshToken, tokenEndpoint }: Credentials): SecretCredentials {
  return {
    clientId: new Secret(clientId),
    clientSecret: new Secret(clientSecret),
    refreshToken: new Secret(refreshToken),
    tokenEndpoint,
  };
}

/** Loads the synthetic seller only for a run that needs it. */
async function startEmbedded(clock: Clock): Promise<EmbeddedService> {
  const { startEmbeddedService } = await import('../emulator/emulator.js');
  return startEmbeddedService(clock);
}
