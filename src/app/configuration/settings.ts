import { join } from 'node:path';
import { variableOf, type Environment } from '../../core/environment.js';
import { usageError } from '../../core/errors.js';
import { userCache } from '../../core/io/home-folder.js';
import { optionOf } from '../../core/text/value-forms.js';
import type { CacheSettings } from '../../lake/files/file-cache.js';
import { lakeFolder } from '../../lake/store/open-store.js';
import type { S3Encryption } from '../../lake/store/store.js';
import type { Configuration } from './configuration.js';
import { readConfiguration } from './read-configuration.js';
import {
  logSettings,
  runSettings,
  type querySettings,
  settingVariable,
  type SettingDefinitions,
  type SettingValues,
} from './setting-definitions.js';

/** The default lake. */
export const defaultLake = runSettings.lake.default;

/** What is set of the cache. */
export type CacheOptions = OptionalSettings<'cache' | 'cacheGigabytes'>;

/** What is set for those who query a lake: of its views, and of the cache. */
export type QuerySettings = CacheOptions & OptionalSettings<keyof typeof querySettings>;

/**
 * Where copies of the files of lakes on S3 are kept.
 *
 * @throws LedgerlakeError as `userCache`
 */
export function cacheOf({
  cache = join(userCache(), 'ledgerlake', 'files'),
  cacheGigabytes = runSettings.cacheGigabytes.default,
}: CacheOptions): CacheSettings {
  return { folder: cache, bytes: 1e9 * cacheGigabytes };
}

/** The settings of a run. */
export interface Settings extends Omit<SettingValues<typeof runSettings>, 'pipelines' | 'sse' | 'kmsKey'> {
  /** Folder with definitions of custom pipelines; undefined: none. */
  readonly pipelineFolder: string | undefined;
  /** Of new objects of a lake on S3; undefined: as the bucket has it. */
  readonly encryption: S3Encryption | undefined;
}

/** Settings that a caller may leave out. */
export type OptionalSettings<Name extends keyof Settings> = { readonly [Each in Name]?: Settings[Each] | undefined };

/** Log and metrics of a command. */
export type LogSettings = SettingValues<typeof logSettings>;

/** Texts of command-line options by name (`log-format`). */
type OptionTexts = Readonly<Record<string, string | undefined>>;

/** The sources of a command's settings. */
export interface SettingSources {
  readonly texts: OptionTexts;
  readonly environment: Environment;
  /** The folder of `ledgerlake.config.json`. */
  readonly workingFolder: string;
}

/**
 * The configuration, and the settings from the command line, the environment and the configuration, in this order.
 *
 * @throws LedgerlakeError USAGE for an invalid value in any of them
 */
export async function configuredSettings({
  texts,
  environment,
  workingFolder,
}: SettingSources): Promise<{ readonly configuration: Configuration; readonly settings: Settings }> {
  const configuration = await readConfiguration(texts['config'], environment, workingFolder);
  return { configuration, settings: resolveSettings(texts, environment, configuration) };
}

/** @throws LedgerlakeError USAGE for an invalid value of the command line or the environment */
export function resolveSettings(options: OptionTexts, environment: Environment, configuration: SettingsFile): Settings {
  const values = settingValues(runSettings, options, environment, configuration);
  const { pipelines, sse, kmsKey, ...others } = values;
  return {
    ...others,
    pipelineFolder: pipelines,
    encryption: encryptionOf(sse, kmsKey),
  };
}

/** @throws LedgerlakeError USAGE for an invalid value of the command line or the environment */
export function resolveLogSettings(
  options: OptionTexts,
  environment: Environment,
  configuration: SettingsFile,
): LogSettings {
  return settingValues(logSettings, options, environment, configuration);
}

type SettingsFile = Pick<Configuration, 'settings' | 'folder'>;

/** The value of each setting: that of its option, else of its variable, else of the configuration, else its default. */
function settingValues<D extends SettingDefinitions>(
  definitions: D,
  options: OptionTexts,
  environment: Environment,
  { settings, folder }: SettingsFile,
): SettingValues<D> {
  const inFile: Readonly<Record<string, unknown>> = settings;
  const values = Object.entries(definitions).map(([name, { read, isPath, default: usual }]) => {
    const [option, variable] = [optionOf(name), settingVariable(name)];
    const [given, set] = [options[option], variableOf(environment, variable)];
    if (read !== undefined && given !== undefined) return [name, read(`--${option}`, given)];
    if (read !== undefined && set !== undefined) return [name, read(variable, set)];
    const value = inFile[name];
    return [name, (isPath && typeof value === 'string' ? relativeTo(folder, value) : value) ?? usual];
  });
  return Object.fromEntries(values) as SettingValues<D>;
}

/** A key without an algorithm is one for `aws:kms`. Throws a USAGE error for a key that the algorithm doesn't use. */
function encryptionOf(sse: S3Encryption['sse'] | undefined, kmsKey: string | undefined): S3Encryption | undefined {
  if (sse === 'AES256' && kmsKey !== undefined) {
    throw usageError('expected sse to be aws:kms or aws:kms:dsse with kmsKey, got AES256; leave out one of the two');
  }
  if (kmsKey !== undefined) return { sse: sse ?? 'aws:kms', kmsKey };
  return sse && { sse };
}

/** A path in the configuration, which is relative to the folder of that file. */
function relativeTo(folder: string, path: string): string {
  return lakeFolder(path, folder) ?? path;
}
