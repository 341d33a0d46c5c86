import type { DoctorReport } from '../app/results.js';
import { checkOptions, syncKinds, text, type OptionsOf, type SyncOptions } from './options.js';
import { callSettingSources } from './settings.js';
import { runTask } from './task.js';

const { lake, config, signal, account, endpoint, api, pipelineFolder } = syncKinds;
const doctorKinds = {
  lake,
  config,
  signal,
  account,
  endpoint,
  api,
  pipelineFolder,
  /** The age of data that is a fault: `90m`, `2h`, `1d`; default: `2d`. Where it is given, a missing lake is a fault. */
  maxLag: text(),
};

/** The options of `doctor`. Each is the option of the command line with the same name. */
export interface DoctorOptions
  extends Pick<SyncOptions, Exclude<keyof typeof doctorKinds, 'maxLag'>>, OptionsOf<typeof doctorKinds> {}

/**
 * Examines all that a night needs, as `ledgerlake doctor` does: configuration, credentials, clock, store, disk, lake and versions.
 * What is wrong is in the report, whose `state` is then `fault`.
 *
 * @throws LedgerlakeError USAGE for invalid options; STOPPED
 */
export async function doctor(options: DoctorOptions = {}): Promise<DoctorReport> {
  checkOptions('doctor', options, doctorKinds);
  const { examine } = await import('../app/doctor/doctor.js');
  return runTask({ signal: options.signal }, (context) =>
    examine({ ...callSettingSources(options), account: options.account }, context),
  );
}
