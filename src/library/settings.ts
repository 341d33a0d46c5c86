import type { Settings } from '../app/configuration/settings.js';
import { namingOptions } from './task.js';

/**
 * The settings of a call, by its options, the environment and the configuration.
 *
 * @param texts the options by their names on the command line
 * @throws LedgerlakeError USAGE for an invalid value in any of them
 */
export async function readSettings(texts: Readonly<Record<string, string | undefined>>): Promise<Settings> {
  const { configuredSettings } = await import('../app/configuration/settings.js');
  const sources = { texts, environment: process.env, workingFolder: process.cwd() };
  return namingOptions(async () => (await configuredSettings(sources)).settings);
}
