import type { SettingValues, settingDefinitions } from '../app/configuration/setting-definitions.js';
import type { Settings, SettingSources } from '../app/configuration/settings.js';
import { optionOf } from '../core/text/value-forms.js';
import { optionText, type CallOptions } from './options.js';
import { namingOptions } from './task.js';

type SettingsByName = SettingValues<typeof settingDefinitions>;

/** Options of a call: those with the name of a setting have its type, but `pipelines`, which are names. */
type SettingOptions = {
  readonly [Name in Exclude<keyof SettingsByName, 'pipelines'>]?: SettingsByName[Name] | Date | undefined;
} & {
  readonly pipelineFolder?: SettingsByName['pipelines'];
} & CallOptions;

/** Where the settings of a call are: its options have the names and texts of the command line. */
export function callSettingSources(options: SettingOptions): SettingSources {
  const given = Object.entries<unknown>({ ...options, pipelines: options.pipelineFolder });
  const texts = Object.fromEntries(given.map(([name, value]) => [optionOf(name), optionText(value)]));
  return { texts, environment: process.env, workingFolder: process.cwd() };
}

/**
 * The settings of a call, by its options, the environment and the configuration.
 *
 * @throws LedgerlakeError USAGE for an invalid value in any of them
 */
export async function readCallSettings(options: SettingOptions): Promise<Settings> {
  const { configuredSettings } = await import('../app/configuration/settings.js');
  return namingOptions(async () => (await configuredSettings(callSettingSources(options))).settings);
}
