import { LedgerlakeError } from '../../core/errors.js';
import { formatCount } from '../../core/text/amounts.js';
import { checkVariables } from '../configuration/account-settings.js';
import type { Configuration } from '../configuration/configuration.js';
import { checkMetricsFile, metricsFileOf, refuseSharedFile } from '../configuration/metrics-file.js';
import { misspeltVariables } from '../configuration/misspelt-variables.js';
import { readConfiguration, withoutFile } from '../configuration/read-configuration.js';
import { resolveLogSettings, resolveSettings, type SettingSources, type Settings } from '../configuration/settings.js';
import { loadCustomPipelines } from '../load/run-settings.js';
import type { CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import { warnings, type AddFinding } from './findings.js';

/** What the other examinations go by. */
export interface ExaminedSettings extends Pick<SettingSources, 'texts' | 'environment'> {
  /** Empty where the file is invalid. */
  readonly configuration: Configuration;
  readonly isValid: boolean;
  readonly settings: Settings;
  readonly customPipelines: readonly CustomPipeline[];
  /** The file of a run's metrics; undefined: none. */
  readonly metricsFile: string | undefined;
}

/**
 * Examines the configuration, the variables and the custom pipelines.
 *
 * @throws LedgerlakeError USAGE for an invalid option of the command line
 */
export async function examineConfiguration(sources: SettingSources, add: AddFinding): Promise<ExaminedSettings> {
  const { texts, environment, workingFolder } = sources;
  const empty: Configuration = { file: undefined, folder: workingFolder, settings: {}, accounts: new Map() };
  /** The result of a step, or what replaces it where it fails. */
  const attempt = async <T>(step: () => T | Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof LedgerlakeError)) throw error;
      for (const found of [error.message, ...(error.details?.split('\n') ?? [])]) add({ state: 'fault', found });
      return otherwise;
    }
  };
  const configuration = await attempt(() => readConfiguration(texts['config'], environment, workingFolder), empty);
  const { file, accounts } = configuration;
  if (file !== undefined) {
    const names = accounts.size === 0 ? '' : `: ${[...accounts.keys()].join(', ')}`;
    add({ state: 'ok', found: `${file} is valid and has ${formatCount(accounts.size, 'account')}${names}` });
  } else if (configuration !== empty) {
    const found = `${withoutFile(configuration)}; the options, the environment and the defaults apply`;
    add({ state: 'ok', found });
  }
  const resolved = await attempt(() => {
    checkVariables(environment);
    return resolveSettings(texts, environment, configuration);
  }, undefined);
  const settings = resolved ?? resolveSettings(texts, {}, configuration);
  const logging = await attempt(
    () => resolveLogSettings(texts, resolved === undefined ? {} : environment, configuration),
    undefined,
  );
  if (logging?.notify !== undefined) {
    // The rest of the address is a secret.
    const { host } = new URL(logging.notify.reveal());
    add({ state: 'ok', found: `the commands of a night post to ${host} how they have ended; nothing was posted now` });
  }
  const log = warnings(add);
  for (const misspelt of misspeltVariables(environment, configuration))
    log({ event: 'variable-misspelt', ...misspelt });
  const { pipelineFolder } = settings;
  const customPipelines =
    pipelineFolder === undefined ? [] : await attempt(() => loadCustomPipelines(pipelineFolder), []);
  if (customPipelines.length > 0) {
    const names = customPipelines.map(({ name }) => name).join(', ');
    add({ state: 'ok', found: `${pipelineFolder ?? ''} has valid definitions of pipelines: ${names}` });
  }
  return {
    texts,
    configuration,
    isValid: configuration !== empty,
    customPipelines,
    metricsFile: logging?.metricsFile,
    // An invalid variable is reported once.
    environment: resolved === undefined ? {} : environment,
    settings,
  };
}

/** @throws LedgerlakeError USAGE where a run of one of the accounts couldn't write its metrics file */
export async function examineMetricsFile(
  { configuration, metricsFile }: ExaminedSettings,
  accounts: readonly string[],
): Promise<void> {
  if (metricsFile === undefined) return;
  refuseSharedFile(configuration, metricsFile);
  for (const account of accounts) await checkMetricsFile(configuration, metricsFileOf(metricsFile, account), account);
}
