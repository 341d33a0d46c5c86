import { messageOf } from '../core/errors.js';
import type { RunLease } from '../lake/upkeep/leases.js';

/** What a command has done. The command line prints the text, or with `--json` the summary; the library returns the summary. */
export interface CommandResult<Summary extends object = object> {
  /** For people: lines; empty: none. */
  readonly text: string;
  /** For programs. */
  readonly summary: Summary;
  /** The exit code of a command that ends without a failure; left out: 0. */
  readonly exitCode?: 0 | 1;
}

/** The end of a command that failed and has a result nevertheless: what it had done before stays. */
export class FailedRun extends Error {
  /** Why it failed, which is what users see. */
  readonly failure: Error;
  readonly result: CommandResult;

  constructor(failure: unknown, result: CommandResult) {
    super(messageOf(failure), { cause: failure });
    this.name = 'FailedRun';
    this.failure = failure instanceof Error ? failure : new Error(messageOf(failure));
    this.result = result;
  }
}

/** Why a command failed. */
export function failureOf(error: unknown): unknown {
  return error instanceof FailedRun ? error.failure : error;
}

/** Does a command's work, and releases its lease at the end. A failure to release it carries the result, if there is one. */
export async function underLease<Summary extends object>(
  lease: Pick<RunLease, 'release'>,
  work: () => Promise<CommandResult<Summary>>,
): Promise<CommandResult<Summary>> {
  let result: CommandResult | undefined;
  try {
    const done = await work();
    result = done;
    return done;
  } catch (error) {
    if (error instanceof FailedRun) ({ result } = error);
    throw error;
  } finally {
    await lease.release().catch((error: unknown) => {
      throw result === undefined ? error : new FailedRun(error, result);
    });
  }
}
