import { messageOf } from '../../core/errors.js';
import { OutOfTime, withinLimit } from '../../core/time-limit.js';
import { plainLog } from '../../observe/log/plain-log.js';
import type { Emit } from '../../core/events/run-event.js';
import type { RunContext } from '../context.js';
import type { DoctorFinding } from '../results.js';

/** A finding, without its group and with what it has alone. */
export type Finding = Pick<DoctorFinding, 'state' | 'found'> & {
  readonly account?: string;
  readonly command?: string | undefined;
};

/** Adds a finding. */
export type AddFinding = (finding: Finding) => void;

/** The time that an examination may take. */
const limitMs = 30_000;

/**
 * Examines something of a group, and if it is named, of an account. An examination that fails is a fault, and what it had found
 * before stays. `late`: the finding where it has taken too long, instead of a fault.
 *
 * @returns its findings, and its result, which is undefined where it failed
 * @throws the signal's reason
 */
export async function examined<T>(
  group: DoctorFinding['group'],
  context: RunContext,
  examine: (add: AddFinding, signal: AbortSignal) => Promise<T>,
  { account: whose, late }: { readonly account?: string; readonly late?: Finding } = {},
): Promise<{ readonly findings: readonly DoctorFinding[]; readonly result: T | undefined }> {
  const findings: DoctorFinding[] = [];
  const add: AddFinding = ({ account = whose ?? null, state, found, command = null }) => {
    findings.push({ group, account, state, found, command });
  };
  let result: T | undefined;
  try {
    result = await withinLimit(limitMs, context, (signal) => examine(add, signal));
  } catch (error) {
    context.signal.throwIfAborted();
    add(error instanceof OutOfTime && late !== undefined ? late : { state: 'fault', found: messageOf(error) });
  }
  // A copy: work that is left behind may add to it.
  return { findings: [...findings], result };
}

/** Adds the texts of events as warnings. */
export function warnings(add: AddFinding): Emit {
  return plainLog((found) => {
    add({ state: 'warning', found });
  });
}
