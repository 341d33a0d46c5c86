import { demoAccount, readAccountName } from '../../app/configuration/account.js';
import type { Configuration } from '../../app/configuration/configuration.js';
import { readConfiguration } from '../../app/configuration/read-configuration.js';
import { configuredAccounts, type ConfiguredAccounts } from '../../app/configuration/configured-accounts.js';
import { configuredSettings, type SettingSources, type Settings } from '../../app/configuration/settings.js';
import { wholeNumber } from '../../core/text/value-forms.js';
import type { RunSettingSources, RunSettings } from '../../app/load/run-settings.js';
import { variableOf } from '../../core/environment.js';
import type { CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import type { CommandArguments } from './command-definition.js';

/**
 * The settings and the account of a run: the command line precedes the environment, which precedes the configuration.
 * `account`: replaces that of the command line; `sendsRequests`: false where no secret is needed; `takesEndpoint`: false for a
 * command without `--endpoint`. Throws a USAGE error for an invalid setting.
 */
export async function readSettings(
  args: CommandArguments,
  options: Pick<RunSettingSources, 'account' | 'sendsRequests' | 'takesEndpoint' | 'check'> = {},
): Promise<RunSettings> {
  const { readRunSettings } = await import('../../app/load/run-settings.js');
  return readRunSettings({
    ...settingSources(args),
    pipelines: args.positionals('PIPELINE'),
    ...options,
    startEmbedded: async (clock) => (await import('../../emulator/emulator.js')).startEmbeddedService(clock),
  });
}

/** Where the settings of a command are. */
export function settingSources(args: CommandArguments): SettingSources {
  return { texts: args.texts(), environment: process.env, workingFolder: process.cwd() };
}

/** The configuration that the command line selects. Throws a USAGE error for an invalid one. */
export function configurationOf(args: CommandArguments): Promise<Configuration> {
  return readConfiguration(args.text('config'), process.env, process.cwd());
}

/**
 * The accounts of a fleet: all that are configured; without any, the synthetic seller's. Throws a USAGE error for an invalid
 * configuration.
 */
export async function readFleetAccounts(args: CommandArguments): Promise<readonly string[]> {
  const { listedAccounts } = await import('../../app/configuration/account-settings.js');
  const listed = listedAccounts(await configurationOf(args), process.env);
  return listed.length === 0 ? [demoAccount] : listed;
}

/**
 * The accounts of a run: those of `--account`; without it all that are configured, unless a setting names one. Empty where the
 * run resolves its account itself. Throws a USAGE error for an invalid configuration.
 */
export async function readRunAccounts(args: CommandArguments): Promise<readonly string[]> {
  const named = [...new Set(args.repeated('account'))];
  if (named.length > 0) return named;
  const { accounts, settings } = await configurationOf(args);
  const single = variableOf(process.env, 'LEDGERLAKE_ACCOUNT') ?? settings.account ?? args.text('endpoint');
  return single === undefined && accounts.size > 1 ? [...accounts.keys()] : [];
}

/** The settings of a command that sends no request: from the command line, the environment or the configuration. */
export async function readLakeSettings(args: CommandArguments): Promise<Settings> {
  return (await configuredSettings(settingSources(args))).settings;
}

/** The configured accounts, as the status of the lake of `--lake` needs them. */
export async function readConfigured(args: CommandArguments): Promise<ConfiguredAccounts> {
  return configuredAccounts(settingSources(args), await configurationOf(args));
}

/**
 * The settings of an import and the account of its events: the synthetic seller's where no account is named. `isNamed`:
 * whether one is named.
 */
export async function readImportSettings(
  args: CommandArguments,
): Promise<Settings & { readonly account: string; readonly isNamed: boolean }> {
  const { accountName } = await import('../../app/configuration/resolve-account.js');
  const { configuration, settings } = await configuredSettings(settingSources(args));
  const named = accountName(configuration, process.env, { account: args.text('account') });
  return { ...settings, account: readAccountName(named ?? demoAccount), isNamed: named !== undefined };
}

/** The custom pipelines of `--pipelines`, or of the settings; none where neither names a folder. */
export async function readCustomPipelines(args: CommandArguments): Promise<readonly CustomPipeline[]> {
  const { pipelineFolder } = await readLakeSettings(args);
  if (pipelineFolder === undefined) return [];
  const { loadCustomPipelines } = await import('../../app/load/run-settings.js');
  return loadCustomPipelines(pipelineFolder);
}

/** `--threads`; undefined where it was left out. Throws a USAGE error for anything but a whole number from 1. */
export function readThreads(args: CommandArguments): number | undefined {
  const text = args.text('threads');
  return text === undefined ? undefined : wholeNumber('--threads', text, 1);
}
