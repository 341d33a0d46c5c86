import { pipelines } from '../../../pipelines/all-pipelines.js';
import type { Clock } from '../../core/clock.js';
import { usageError } from '../../core/errors.js';
import { variableOf, type Environment } from '../../core/environment.js';
import type { LoadValues } from '../../engine/run/load-options.js';
import type { Store } from '../../lake/store/store.js';
import type { VariableOrigins } from '../../sources/custom/custom-address.js';
import { customPipeline, type CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import { historyPipeline, tables } from '../../sources/finances/lake-tables.js';
import { demoAccount, readCustomAccount } from '../configuration/account.js';
import {
  accountEnvironment,
  accountName,
  resolveAccount,
  type AccountChoice,
  type ResolvedAccount,
} from '../configuration/resolve-account.js';
import { unknownPipeline } from '../configuration/chosen-pipelines.js';
import type { RangeOptions } from '../configuration/range.js';
import {
  configuredSettings,
  defaultLake,
  resolveSettings,
  type SettingSources,
  type Settings,
} from '../configuration/settings.js';
import { views } from '../query/views.js';
import type { StateLocation } from './state-folder.js';

/** The service of a first run, in this process. It is not throttled, and answers where there is no endpoint. */
export interface EmbeddedService {
  readonly url: string;
  close(): Promise<void>;
}

/** What a run that asks the service is given. */
export interface RunSettingSources
  extends SettingSources, Pick<AccountChoice, 'sendsRequests' | 'takesEndpoint' | 'credentials'> {
  /** Throws for what else is wrong: called before the account is resolved, so that credentials that are missing don't hide it. */
  readonly check?: ((settings: Settings) => void) | undefined;
  /** Pipelines by name; empty where none is named. */
  readonly pipelines: readonly string[];
  /** Replaces the account of the option. */
  readonly account?: string | undefined;
  /** Loads the synthetic seller; asked only by a run that needs it. */
  readonly startEmbedded: (clock: Clock) => Promise<EmbeddedService>;
}

/** What a run that asks the service goes by. */
export interface RunSettings extends Settings, ResolvedAccount {
  /** Whether the lake is the one of commands that name none. */
  readonly isDefaultLake?: boolean;
  readonly startEmbedded: (clock: Clock) => Promise<EmbeddedService>;
  /** Custom pipelines, whether or not they are named. */
  readonly customPipelines: readonly CustomPipeline[];
  /** The variables that their definitions refer to; left out: the process's. */
  readonly environment?: Environment | undefined;
  /** Where these come from; left out: from the user's environment. */
  readonly origins?: VariableOrigins | undefined;
}

type OptionalRunSettings<Name extends keyof RunSettings> = { readonly [Each in Name]?: RunSettings[Each] | undefined };

type NeededSetting = 'lake' | 'rate' | 'burst';

/** What a load is given, of which most may be left out: the settings of a run, and the options of loads. */
export interface LoadOptions
  extends
    RangeOptions,
    Pick<RunSettings, NeededSetting>,
    OptionalRunSettings<Exclude<keyof RunSettings, NeededSetting>>,
    StateLocation,
    LoadValues {
  /** Names of pipelines; empty: the default ones of the API. */
  readonly pipelines: readonly string[];
  /** False: pages and quota are kept only where the state folder exists; left out: true. */
  readonly createsState?: boolean;
  /** Used instead of the store that `lake` names. */
  readonly store?: Store;
}

/**
 * The settings and the account of a run: what is given goes before the environment, that before the configuration.
 *
 * @throws LedgerlakeError USAGE for what is wrong in any of them
 */
export async function readRunSettings(sources: RunSettingSources): Promise<RunSettings> {
  const { texts, environment, pipelines: named, startEmbedded, account: asked = texts['account'] } = sources;
  const { configuration, settings: read } = await configuredSettings(sources);
  const usual = resolveSettings({ ...texts, lake: undefined }, environment, configuration);
  const settings = { ...read, isDefaultLake: texts['config'] === undefined && read.lake === usual.lake };
  const customPipelines =
    settings.pipelineFolder === undefined ? [] : await loadCustomPipelines(settings.pipelineFolder);
  // Before the account: of a mistyped custom pipeline it would be said that its account isn't one of the service's.
  refuseUnknown(named, customPipelines, new Set(configuration.accounts.keys()), settings.pipelineFolder);
  sources.check?.(settings);
  if (named.length > 0 && named.every((name) => customPipelines.some((pipeline) => pipeline.name === name))) {
    const account = readCustomAccount(accountName(configuration, environment, { account: asked }));
    const variables = await accountEnvironment(configuration, environment, account);
    return {
      ...settings,
      ...variables,
      account,
      endpoint: undefined,
      signIn: undefined,
      startEmbedded,
      customPipelines,
    };
  }
  const { sendsRequests = true, takesEndpoint = true, credentials } = sources;
  const accountOptions = { account: asked, endpoint: texts['endpoint'], sendsRequests, takesEndpoint, credentials };
  const { account, signIn, ...resolvedAccount } = await resolveAccount(configuration, environment, accountOptions);
  const isDemo = account === demoAccount && resolvedAccount.endpoint === undefined;
  const isOfFile = texts['lake'] === undefined && variableOf(environment, 'LEDGERLAKE_LAKE') === undefined;
  const { accounts, settings: configured } = configuration;
  const isTheirs = isOfFile && configured.lake !== undefined && accounts.size > 0 && !accounts.has(account);
  if (isDemo && isTheirs && sendsRequests) {
    throw usageError(
      `expected --lake with --account ${demoAccount}, got ${settings.lake}, the lake of the configured accounts, and synthetic events ` +
        `are never stored beside real ones; add --lake ${defaultLake}, for example`,
    );
  }
  const resolved = { ...settings, account, signIn, ...resolvedAccount, startEmbedded, customPipelines };
  if (customPipelines.length === 0) return resolved;
  return { ...resolved, ...(await accountEnvironment(configuration, environment, account)) };
}

/** Throws a USAGE error for a name that no pipeline has */
function refuseUnknown(
  names: readonly string[],
  customPipelines: readonly CustomPipeline[],
  accounts: ReadonlySet<string>,
  folder: string | undefined,
): void {
  const known = [...pipelines, ...customPipelines];
  const unknown = names.find((name) => known.every((pipeline) => pipeline.name !== name));
  if (unknown !== undefined)
    throw unknownPipeline(unknown, known, accounts, folder && `no file of ${folder} defines it`);
}

/** The pipelines that a folder defines. Throws as `loadDefinitions` does. */
export async function loadCustomPipelines(folder: string): Promise<readonly CustomPipeline[]> {
  // Only where there is such a folder: the schema of definitions takes a moment to load.
  const { loadDefinitions } = await import('../../sources/custom/load-definitions.js');
  const reserved = [...pipelines, historyPipeline].map(({ name }) => name);
  const names = [...tables.map(({ name }) => name), ...views.keys()];
  const definitions = await loadDefinitions(folder, { pipelines: reserved, tables: names });
  return definitions.map((definition) => customPipeline(definition));
}
