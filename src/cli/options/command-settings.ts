import { variableOf } from '../../core/environment.js';
import type { Settings } from '../../app/configuration/settings.js';
import type { EmbeddedService } from '../../app/load/connections.js';
import type { RunSettingSources, RunSettings } from '../../app/load/run-settings.js';
import type { Clock } from '../../core/clock.js';
import type { CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import type { CommandArguments } from './command-definition.js';

/**
 * The settings and the account of a run: what the command line says goes before the environment, that before the
 * configuration. `account`: replaces that of the command line; `sendsRequests`: false where no secret is needed;
 * `takesEndpoint`: false for a command without `--endpoint`. Throws a USAGE error for what is wrong in any of them
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
    pipelines: args.all('PIPELINE'),
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

/** Loads the made-up seller only for a run that needs it. */
async function startEmbedded(clock: Clock): Promise<EmbeddedService> {
  const { startEmbeddedService } = await import('../../emulator/emulator.js');
  return startEmbeddedService(clock);
}

/**
 * The accounts of a fleet: those that are configured; where there are none, the made-up seller's. Throws a USAGE error for a
 * configuration that isn't one
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
 * The accounts that a run is for: those of `--account`; without it all that are configured, where nothing names one of them.
 * Empty where the run itself finds its account. Throws a USAGE error for a configuration that isn't one
 */
export async function readRunAccounts(args: CommandArguments): Promise<readonly string[]> {
  const named = [...new Set(args.repeated('account'))];
  if (named.length > 0) return named;
  const { readConfiguration } = await import('../../app/configuration/read-configuration.js');
  const { accounts, settings } = await readConfiguration(args.text('config'), process.env, process.cwd());
  const single = variableOf(process.env, 'LEDGERLAKE_ACCOUNT') ?? settings.account ?? args.text('endpoint');
  return single === undefined && accounts.size > 1 ? [...accounts.keys()] : [];
}

/** The settings of a command that asks no service: as on the command line, in the environment or in the configuration. */
export async function readLakeSettings(args: CommandArguments): Promise<Settings> {
  return (await readConfiguredSettings(args)).settings;
}

/** The lake that a command is about. */
export async function readLake(args: CommandArguments): Promise<string> {
  return (await readLakeSettings(args)).lake;
}

/**
 * The accounts whose upstream the configuration names, and those of them that the lake of `--lake` is for: none where
 * environment or configuration name another lake.
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
 * The lake that saved pages are imported into, and whose events they hold: the made-up seller's where no account is named.
 * `isNamed`: whether one is.
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
