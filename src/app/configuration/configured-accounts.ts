import { variableOf } from '../../core/environment.js';
import { lakeFolder } from '../../lake/store/open-store.js';
import type { Configuration } from './configuration.js';
import { resolveSettings, type SettingSources, type Settings } from './settings.js';

/** The configured accounts, as far as the status of a lake depends on them. */
export interface ConfiguredAccounts extends Pick<Settings, 'api'> {
  /** Those with a configured upstream. */
  readonly configured: readonly string[];
  /** Those of them that the lake should have: none where the environment or the configuration names another lake. */
  readonly expected: readonly string[];
  /** Start of their syncs; undefined where none is configured, and for another lake. */
  readonly syncedFrom: string | undefined;
}

/** @throws LedgerlakeError USAGE for an invalid setting */
export function configuredAccounts(
  { texts, environment }: Pick<SettingSources, 'texts' | 'environment'>,
  configuration: Configuration,
): ConfiguredAccounts {
  const settings = resolveSettings({ ...texts, lake: undefined, from: undefined }, environment, configuration);
  const configured = [...configuration.accounts].flatMap(([name, { endpoint, region }]) =>
    endpoint === undefined && region === undefined ? [] : [name],
  );
  const isNamed = (variableOf(environment, 'LEDGERLAKE_LAKE') ?? configuration.settings.lake) !== undefined;
  const absolute = (lake: string): string => lakeFolder(lake) ?? lake.replace(/\/+$/, '');
  const isOther = isNamed && absolute(texts['lake'] ?? settings.lake) !== absolute(settings.lake);
  const syncedFrom = isOther ? undefined : settings.from;
  return { configured, expected: isOther ? [] : configured, syncedFrom, api: settings.api };
}
