import { systemClock } from '../core/clock.js';
import type { DoctorReport } from '../app/results.js';
import { checkOptions, type AccountOptions, type OptionKinds, type SyncOptions } from './options.js';
import { runTask } from './task.js';

/** The options of `doctor`. Each is the option of the command line with the same name. */
export interface DoctorOptions
  extends
    Pick<AccountOptions, 'account' | 'endpoint' | 'config'>,
    Pick<SyncOptions, 'lake' | 'api' | 'pipelineFolder' | 'signal'> {
  /** The age of data that is a fault: `90m`, `2h`, `1d`; default: `2d`. */
  readonly maxLag?: string | undefined;
}

const kinds: OptionKinds<DoctorOptions> = {
  account: 'text',
  endpoint: 'text',
  config: 'text',
  lake: 'text',
  api: 'text',
  pipelineFolder: 'text',
  signal: 'signal',
  maxLag: 'text',
};

/**
 * Examines all that a night needs, as `ledgerlake doctor` does: configuration, credentials, clock, store, disk, lake and versions.
 * What is wrong is in the report, whose `state` is then `fault`.
 *
 * @throws LedgerlakeError USAGE for invalid options; STOPPED
 */
export async function doctor(options: DoctorOptions = {}): Promise<DoctorReport> {
  checkOptions('doctor', options, kinds);
  const { account, endpoint, config, lake, api, pipelineFolder: pipelines, maxLag, signal: given } = options;
  const { examine } = await import('../app/doctor/doctor.js');
  const texts = { endpoint, config, lake, api, pipelines, 'max-lag': maxLag };
  const sources = { texts, environment: process.env, workingFolder: process.cwd() };
  return runTask({ signal: given }, ({ signal }) => examine({ ...sources, account }, { clock: systemClock, signal }));
}
