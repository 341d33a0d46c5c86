import { variableOf } from '../../core/environment.js';
import type { Settings } from '../../app/configuration/settings.js';
import type { EmbeddedService } from '../../app/load/connections.js';
import type { RunSettingSources, RunSettings } from '../../app/load/run-settings.js';
import type { Clock } from '../../core/clock.js';
import type { CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import type { CommandArguments } from './command-definition.js';

/**
 * The settings and the account of a run: the command line precedes the environment, which precedes the configuration.
 * `account`: replaces that of the command line; `sendsRequests`: false where no secret is needed; `takesEndpoint`: false for a
 * command without `--endpoint`. Throws a USAGE error for an invalid setting.
 */
export async function readSettings(
  args: CommandArguments,
  {
    account = args.text('account'),
    sendsRequests = true,
    takesEndpoint = true,
    check,
  }: Partial<Pick<RunSettingSources, 'sendsRequests' | 'takesEndpoint' | 'check'>> & {
    readonly account?: string | undefined;
  } = {},
): Promise<RunSettings> {
  const { readRunSettings } = await import('../../app/load/run-settings.js');
  return readRunSettings({
    ...settingSources(args),
    pipelines: args.positionals('PIPELINE'),
    account,
    sendsRequests,
    takesEndpoint,
    check,
    startEmbedded,
  });
}

function settingSources(args: CommandArguments) {
  return { texts: args.texts(), environment: process.env, workingFolder: process.cwd() };
}

async function readConfiguredSettings(args: CommandArguments) {
  const { configuredSettings } = await import('../../app/configuration/settings.js');
  return configuredSettings(settingSources(args));
}

/** Imports the synthetic seller only for a run that needs it. */
async function startEmbedded(clock: Clock): Promise<EmbeddedService> {
  const { startEmbeddedService } = await import('../../emulator/emulator.js');
  return startEmbeddedService(clock);
}

/**
 * The accounts of a fleet: all that are configured; without any, the synthetic seller's. Throws a USAGE error for an invalid
 * configuration.
 */
export async function readFleetAccounts(args: CommandArguments): Promise<readonly string[]> {
  const [{ readConfiguration }, { listedAccounts }, { demoAccount }] = await Promise.all([
    import('../../app/configuration/read-configuration.js'),
    import('../../app/configuration/account-settings.js'),
    import('../../app/configuration/account.js'),
  ]);
  const configuration = await readConfiguration(args.text('config'), process.env, process.cwd());
  const listed = listedAccounts(configuration, process.env);
  return listed.length === 0 ? [demoAccount] : listed;
}

/**
 * The accounts of a run: those of `--account`; without it all that are configured, unless a setting names one. Empty where the
 * run resolves its account itself. Throws a USAGE error for an invalid configuration.
 */
export async function readRunAccounts(args: CommandArguments): Promise<readonly string[]> {
  const named = [...new Set(args.repeated('account'))];
  if (named.length > 0) return named;
  const { readConfiguration } = await import('../../app/configuration/read-configuration.js');
  const { accounts, settings } = await readConfiguration(args.text('config'), process.env, process.cwd());
  const single = variableOf(process.env, 'LEDGERLAKE_ACCOUNT') ?? settings.account ?? args.text('endpoint');
  return single === undefined && accounts.size > 1 ? [...accounts.keys()] : [];
}

/** The settings of a command that sends no request: from the command line, the environment or the configuration. */
export async function readLakeSettings(args: CommandArguments): Promise<Settings> {
  return (await readConfiguredSettings(args)).settings;
}

/** The lake of a command. */
export async function readLake(args: CommandArguments): Promise<string> {
  return (await readLakeSettings(args)).lake;
}

/**
 * The accounts with a configured upstream, and those of them that the lake of `--lake` should have: none where the environment
 * or the configuration names another lake.
 */
export async function readConfigured(
  args: CommandArguments,
): Promise<{ readonly configured: readonly string[]; readonly expected: readonly string[] }> {
  const [{ configuredSettings }, { lakeFolder }] = await Promise.all([
    import('../../app/configuration/settings.js'),
    import('../../lake/store/open-store.js'),
  ]);
  const sources = settingSources(args);
  const { configuration, settings } = await configuredSettings({
    ...sources,
    texts: { ...sources.texts, lake: undefined },
  });
  const configured = [...configuration.accounts].flatMap(([name, { endpoint, region }]) =>
    endpoint === undefined && region === undefined ? [] : [name],
  );
  const isNamed = (variableOf(process.env, 'LEDGERLAKE_LAKE') ?? configuration.settings.lake) !== undefined;
  const absolute = (lake: string): string => lakeFolder(lake) ?? lake.replace(/\/+$/, '');
  const isOther = isNamed && absolute(args.text('lake') ?? settings.lake) !== absolute(settings.lake);
  return { configured, expected: isOther ? [] : configured };
}

/**
 * The settings of an import and the account of its events: the synthetic seller's where no account is named. `isNamed`:
 * whether one is named.
 */
export async function readImportSettings(
  args: CommandArguments,
): Promise<Settings & { readonly account: string; readonly isNamed: boolean }> {
  const [{ configuration, settings }, { accountName }, { readAccountName, demoAccount }] = await Promise.all([
    readConfiguredSettings(args),
    import('../../app/configuration/resolve-account.js'),
    import('../../app/configuration/account.js'),
  ]);
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
export async function readThreads(args: CommandArguments): Promise<number | undefined> {
  const text = args.text('threads');
  if (text === undefined) return undefined;
  const { wholeNumber } = await import('../../app/configuration/settings.js');
  return wholeNumber('--threads', text, 1);
}
