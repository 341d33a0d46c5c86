import { messageOf } from '../core/errors.js';
import type { RunLease } from '../lake/leases.js';
import type { Failure } from './results.js';

/** What a command has done. The command line prints the text, or with `--json` the summary; the library returns the summary. */
export interface CommandResult<Summary extends object = object> {
  /** For people: lines; empty: none. */
  readonly text: string;
  /** For programs. */
  readonly summary: Summary;
  /** The exit code of a command that ends without a failure; left out: 0. */
  readonly exitCode?: 0 | 1;
}

/** What a command that fails has done before, which stays. */
export interface FailedResult {
  /** For people: lines; left out: the command had not begun. */
  readonly text?: string;
  /** For programs. */
  readonly summary: object;
}

/**
 * Sets what a command has done where it fails. Called then, also where an uncaught exception ends the process, in which no function
 * returns.
 */
export type SetFailedResult = (known: () => FailedResult) => void;

/** Keeps what a command sets. */
export function keptResult(first: FailedResult): {
  readonly setFailedResult: SetFailedResult;
  readonly failed: () => FailedResult;
} {
  let kept = () => first;
  return {
    setFailedResult: (known) => {
      kept = known;
    },
    failed: () => kept(),
  };
}

/** Ends a command that has failed and has a result nevertheless. */
export function fail(failure: unknown, result: FailedResult, setFailedResult: SetFailedResult | undefined): never {
  setFailedResult?.(() => result);
  throw failure instanceof Error ? failure : new Error(messageOf(failure), { cause: failure });
}

/** The summary of a command that has failed. */
export function failedSummary<Summary extends object>(summary: Summary, { code, message }: Failure) {
  return { ...summary, status: 'failed' as const, error: { code, message } };
}

/** Does a command's work, and releases its lease at the end. A failure to release it has the result, if there is one. */
export async function underLease<Summary extends object>(
  lease: Pick<RunLease, 'release'>,
  setFailedResult: SetFailedResult | undefined,
  work: () => Promise<CommandResult<Summary>>,
): Promise<CommandResult<Summary>> {
  let result: CommandResult | undefined;
  try {
    const done = await work();
    result = done;
    return done;
  } finally {
    await lease.release().catch((error: unknown) => {
      if (result === undefined) throw error;
      fail(error, result, setFailedResult);
    });
  }
}
