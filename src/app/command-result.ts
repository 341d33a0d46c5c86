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

/** Why a command failed, its `cause`, which the comments of commands name, and what it has done before, which stays. */
export class CommandError extends Error {
  /** For people: lines; undefined: the command had not begun. */
  readonly text: string | undefined;
  /** For programs. */
  readonly summary: object;

  constructor(failure: unknown, { text, summary }: { readonly text?: string; readonly summary: object }) {
    super(messageOf(failure), { cause: failure });
    this.name = 'CommandError';
    this.text = text;
    this.summary = summary;
  }
}

/** Why a command failed, without what it has done. */
export function failureOf(error: unknown): unknown {
  return error instanceof CommandError ? error.cause : error;
}

/** The summary of a command that has failed. */
export function failedSummary<Summary extends object>(summary: Summary, { code, message }: Failure) {
  return { ...summary, status: 'failed' as const, error: { code, message } };
}

/**
 * The result of a command that has ended.
 *
 * @param failure undefined: there is none
 * @throws CommandError with the result, where there is a failure
 */
export function resultOf<Summary extends object>(
  result: CommandResult<Summary>,
  failure: unknown,
): CommandResult<Summary> {
  if (failure !== undefined) throw new CommandError(failure, result);
  return result;
}

/** Awaits a command. Where it fails before it has begun, its failure has what is known of it. */
export async function withKnown<T>(command: Promise<T>, known: () => object): Promise<T> {
  try {
    return await command;
  } catch (error) {
    throw error instanceof CommandError ? error : new CommandError(error, { summary: known() });
  }
}

/** Does a command's work, and releases its lease at the end. A failure to release it has the result. */
export async function underLease<Summary extends object>(
  lease: Pick<RunLease, 'release'>,
  work: () => Promise<CommandResult<Summary>>,
): Promise<CommandResult<Summary>> {
  let result: CommandResult<Summary>;
  try {
    result = await work();
  } catch (error) {
    // The failure of the work is the one to report.
    await lease.release().catch(() => undefined);
    throw error;
  }
  try {
    await lease.release();
  } catch (error) {
    throw new CommandError(error, result);
  }
  return result;
}
