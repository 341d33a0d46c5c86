import { dirname, resolve } from 'node:path';
import { usageError } from '../../core/errors.js';
import { isFolder } from '../../core/io/files.js';
import type { Configuration } from './configuration.js';

/** Placeholder of the account in the name of a metrics file. */
export const accountPlaceholder = '{account}';

/** The metrics file of an account's run. */
export function metricsFileOf(metricsFile: string, account: string): string {
  return metricsFile.replaceAll(accountPlaceholder, account);
}

/** The file of the configuration, within its folder; undefined where it has none. */
function configuredFile({ folder, settings }: Configuration): string | undefined {
  return settings.metricsFile === undefined ? undefined : resolve(folder, settings.metricsFile);
}

/** Throws a USAGE error where the runs of several accounts would replace each other's metrics. */
export function refuseSharedFile(configuration: Configuration, metricsFile: string): void {
  const { file = '', accounts } = configuration;
  const isConfigured = configuredFile(configuration) === metricsFile;
  if (!isConfigured || accounts.size < 2 || metricsFile.includes(accountPlaceholder)) return;
  throw usageError(
    `expected ${accountPlaceholder} in \`metricsFile\` of ${file}, which has ${accounts.size} accounts, got ${metricsFile}; each run ` +
      `would replace the metrics of the others, so write ledgerlake-${accountPlaceholder}.prom, for example`,
  );
}

/**
 * Checks the place of the metrics file of an account's run.
 *
 * @throws LedgerlakeError USAGE where its folder is missing, and where it is a folder
 */
export async function checkMetricsFile(
  configuration: Configuration,
  metricsFile: string,
  account: string,
): Promise<void> {
  const configured = configuredFile(configuration);
  const isConfigured = configured !== undefined && metricsFileOf(configured, account) === metricsFile;
  const name = isConfigured ? `\`metricsFile\` of ${configuration.file ?? ''}` : '--metrics-file';
  const folder = dirname(metricsFile);
  if (!(await isFolder(folder)))
    throw usageError(`expected ${name} in a folder that exists, got ${metricsFile}; create ${folder}`);
  if (await isFolder(metricsFile))
    throw usageError(`expected ${name} to be a file, got the folder ${metricsFile}; add a name`);
}
