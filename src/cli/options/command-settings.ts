import type { Settings } from '../../app/configuration/settings.js';
import type { CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import type { SignIn } from '../../engine/auth/token-request.js';
import type { Clock } from '../../core/clock.js';
import type { EmbeddedService } from '../../app/load/connections.js';
import type { Given } from './command-definition.js';

/** What a run that asks the service goes by. */
interface RunSettings extends Settings {
  readonly account: string;
  /** Undefined: the embedded service. */
  readonly endpoint: string | undefined;
  readonly signIn: SignIn | undefined;
  readonly startEmbedded: (clock: Clock) => Promise<EmbeddedService>;
  /** Files with secrets that everybody on this machine can read. */
  readonly exposed?: readonly string[] | undefined;
  /** Pipelines of the user's own, whether or not they are named. */
  readonly own: readonly CustomPipeline[];
}

/**
 * The settings and the account of a run: what the command line says goes before the environment, that before the
 * configuration. `asked`: the account in the place of the command line's; `sendsRequests`: false where no secret is needed;
 * `takesEndpoint`: false for a command without `--endpoint`. Throws a USAGE error for what is wrong in any of them
 */
export async function readSettings(
  given: Given,
  { asked = given.text('account'), sendsRequests = true, takesEndpoint = true } = {},
): Promise<RunSettings> {
  const { configuration, settings, resolveAccount, accountName, readOwnAccount } = await configured(given);
  const own = settings.pipelineFolder === undefined ? [] : await loadOwn(settings.pipelineFolder);
  const named = given.all('PIPELINE');
  // Before the account: of a mistyped custom pipeline it would be said that its account isn't one of the service's.
  if (named.length > 0) await refuseUnknown(named, own, new Set(configuration.accounts.keys()));
  if (named.length > 0 && named.every((name) => own.some((pipeline) => pipeline.name === name))) {
    const account = readOwnAccount(accountName(configuration, process.env, { account: asked }));
    return { ...settings, account, endpoint: undefined, signIn: undefined, startEmbedded, own };
  }
  const { account, endpoint, signIn, exposed } = await resolveAccount(configuration, process.env, {
    account: asked,
    endpoint: given.text('endpoint'),
    sendsRequests,
    takesEndpoint,
  });
  return { ...settings, account, endpoint, signIn, exposed, startEmbedded, own };
}

/** Throws a USAGE error for a name that no pipeline has */
async function refuseUnknown(
  names: readonly string[],
  own: readonly CustomPipeline[],
  accounts: ReadonlySet<string>,
): Promise<void> {
  const [{ pipelines }, { unknownPipeline }] = await Promise.all([
    import('../../../pipelines/all-pipelines.js'),
    import('../../app/configuration/chosen-pipelines.js'),
  ]);
  const known = [...pipelines, ...own];
  const unknown = names.find((name) => known.every((pipeline) => pipeline.name !== name));
  if (unknown !== undefined) throw unknownPipeline(unknown, known, accounts);
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
export async function readFleetAccounts(given: Given): Promise<readonly string[]> {
  const [{ readConfiguration }, { listedAccounts }, { demoAccount }] = await Promise.all([
    import('../../app/configuration/read-configuration.js'),
    import('../../app/configuration/account-settings.js'),
    import('../../app/configuration/account.js'),
  ]);
  const configuration = await readConfiguration(given.text('config'), process.env, process.cwd());
  const listed = listedAccounts(configuration, process.env);
  return listed.length === 0 ? [demoAccount] : listed;
}

/** The lake that a command is about: as on the command line, in the environment or in the configuration. */
export async function readLake(given: Given): Promise<string> {
  return (await readStatePlace(given)).lake;
}

/** The same, where runs have left pages, and how far they stay behind the present. */
export async function readStatePlace(given: Given): Promise<Pick<Settings, 'lake' | 'journal' | 'marginMinutes'>> {
  const { lake, journal, marginMinutes } = (await configured(given)).settings;
  return { lake, journal, marginMinutes };
}

/** The lake that saved pages are imported into, and whose events they hold: the made-up seller's where no account is named. */
export async function readImportSettings(given: Given): Promise<{ lake: string; account: string }> {
  const { configuration, settings, accountName, readAccountName, demoAccount } = await configured(given);
  const account = accountName(configuration, process.env, { account: given.text('account') }) ?? demoAccount;
  return { lake: settings.lake, account: readAccountName(account) };
}

/** The configuration, the settings that come of it and of the options that a command has, and how accounts are found. */
async function configured(given: Given) {
  // Loaded when a command runs: `--help` needs no schema.
  const [{ readConfiguration }, { resolveSettings }, resolving, accounts] = await Promise.all([
    import('../../app/configuration/read-configuration.js'),
    import('../../app/configuration/settings.js'),
    import('../../app/configuration/resolve-account.js'),
    import('../../app/configuration/account.js'),
  ]);
  const configuration = await readConfiguration(given.text('config'), process.env, process.cwd());
  const settings = resolveSettings(given.texts(), process.env, configuration);
  return { configuration, settings, ...resolving, ...accounts };
}

/** The pipelines that a folder defines. Throws as `loadDefinitions` does. */
async function loadOwn(folder: string): Promise<readonly CustomPipeline[]> {
  const [{ loadDefinitions }, { customPipeline }, { pipelines }, { historyFamily }, { tables }, { transactionViews }] =
    await Promise.all([
      import('../../sources/custom/load-definitions.js'),
      import('../../sources/custom/custom-pipeline.js'),
      import('../../../pipelines/all-pipelines.js'),
      import('../../app/reconcile/event-history.js'),
      import('../../sources/finances/lake-tables.js'),
      import('../../app/query/transaction-views.js'),
    ]);
  const taken = [...pipelines, historyFamily].map(({ name }) => name);
  const names = [...tables, ...transactionViews].map(({ name }) => name);
  const definitions = await loadDefinitions(folder, { pipelines: taken, tables: names });
  return definitions.map((definition) => customPipeline(definition));
}

/** `--threads`; undefined where it was left out. Throws a USAGE error for anything but a whole number from 1. */
export async function readThreads(given: Given): Promise<number | undefined> {
  const text = given.text('threads');
  if (text === undefined) return undefined;
  const { whole } = await import('../../app/configuration/settings.js');
  return whole('--threads', text, 1);
}
