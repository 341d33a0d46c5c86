import { startEmbeddedService } from '../../../src/emulator/emulator.js';
import { plan, type PlanOptions } from '../../../src/app/plan/plan.js';
import type { Clock } from '../../../src/core/clock.js';
import { Kept } from '../../core/text/streams.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

const defaults: PlanOptions = {
  pipelines: [],
  lake: '',
  account: undefined,
  endpoint: undefined,
  startEmbedded: startEmbeddedService,
  refresh: false,
  from: undefined,
  to: undefined,
  rate: 0.5,
  burst: 30,
  orders: undefined,
  probe: false,
  format: 'json',
};

export type PlannedPipeline = Readonly<Record<string, number | boolean | string | null>>;

export interface PlannedObject {
  readonly known: boolean;
  readonly requests: number;
  readonly seconds: number | null;
  readonly probe_requests: number;
  readonly pipelines: readonly PlannedPipeline[];
}

/** What `ledgerlake plan` writes. */
export async function planText(
  options: Partial<PlanOptions>,
  clock: Clock,
  log: (line: string) => void = () => undefined,
): Promise<string> {
  const output = new Kept();
  const signal = new AbortController().signal;
  await plan({ ...defaults, ...options }, { clock, signal, output, emit: plainLog(log) });
  return output.text;
}

/** The same as JSON, read. */
export async function planned(options: Partial<PlanOptions>, clock: Clock): Promise<PlannedObject> {
  return JSON.parse(await planText({ ...options, format: 'json' }, clock)) as PlannedObject;
}

/** The plan of one pipeline. */
export function of(plan: PlannedObject, pipeline: string): PlannedPipeline {
  const found = plan.pipelines.find((one) => one['pipeline'] === pipeline);
  if (found === undefined) throw new Error(`no plan of ${pipeline}`);
  return found;
}
