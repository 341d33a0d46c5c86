import { shortenMessage } from './printable.js';

/** When what failed may succeed. */
type Again =
  /** When the same request is sent again. */
  | 'retry'
  /** In another run, such as the next turn in a fleet. */
  | 'rerun'
  /** Not before somebody has mended the cause: a fleet gives the account up. */
  | 'mend';

/** Stable error codes for programs, each with its exit code. */
const codes = {
  /** The command line or a file of the user's is invalid; nothing was changed. */
  USAGE: { exit: 2, again: 'mend' },
  /** A required path parameter is missing (specification, section 7). */
  MISSING_PARAMETER: { exit: 2, again: 'mend' },
  /** The upstream can't be reached, or closed the connection early. */
  UPSTREAM_UNREACHABLE: { exit: 1, again: 'retry' },
  /** The upstream's answer has a status other than 200. */
  UPSTREAM_STATUS: { exit: 1, again: 'retry' },
  /** The upstream's answer has no results where an earlier one had some. */
  UPSTREAM_EMPTY: { exit: 1, again: 'mend' },
  /** The upstream's answer has other orders than an earlier one: it may be of another account. */
  UPSTREAM_ACCOUNT: { exit: 1, again: 'mend' },
  /** The upstream's answer doesn't match its model. */
  UPSTREAM_BODY: { exit: 1, again: 'retry' },
  /** An answer, or a JSON text, is larger than the limit for memory. */
  TOO_LARGE: { exit: 1, again: 'mend' },
  /** The token endpoint refused to issue an access token: client id, client secret or refresh token is wrong. */
  SIGN_IN_REFUSED: { exit: 1, again: 'mend' },
  /** The token endpoint can't be reached, fails, or isn't a token endpoint. */
  SIGN_IN_UNREACHABLE: { exit: 1, again: 'retry' },
  /** A line of an imported file isn't an answer's body, or the file can't be read to its end. */
  BROKEN_LINE: { exit: 1, again: 'mend' },
  /** The bytes aren't JSON. */
  JSON_SYNTAX: { exit: 1, again: 'rerun' },
  /** The lake can't be read or written. */
  LAKE_STORE: { exit: 1, again: 'rerun' },
  /** It is unknown whether a commit succeeded. */
  LAKE_UNCLEAR: { exit: 1, again: 'rerun' },
  /** The lake's log is damaged, or written by a newer program. */
  LAKE_LOG: { exit: 1, again: 'mend' },
  /** Another writer committed first, and the transaction can't be rebased onto that commit. */
  LAKE_CONFLICT: { exit: 1, again: 'rerun' },
  /** The lake's data is older than requested. */
  LAKE_LAG: { exit: 1, again: 'rerun' },
  /** An earlier version of the lake that is asked for can't be read any more: its commits or files are gone. */
  LAKE_HISTORY: { exit: 1, again: 'mend' },
  /** A Parquet file doesn't have the rows that were passed to the encoder. */
  PARQUET_MISMATCH: { exit: 1, again: 'rerun' },
  /** A user's definition of a pipeline threw, or returned what it doesn't declare. */
  DEFINITION: { exit: 1, again: 'mend' },
  /** Parquet could not be written: the encoder, or the thread that it runs on, failed or ran out of memory. */
  ENCODER: { exit: 1, again: 'rerun' },
  /** Standard output or the output file can't be written, as on a full disk. */
  OUTPUT: { exit: 1, again: 'mend' },
  /** A query failed. */
  SQL: { exit: 1, again: 'rerun' },
  /** The rows are committed, but the export for other engines could not be written. */
  EXPORT: { exit: 1, again: 'retry' },
  /** Some slices could not be read and are left open; all others are committed. */
  INCOMPLETE: { exit: 1, again: 'retry' },
  /** All is loaded but what could not be read of some pages. */
  HOLES: { exit: 1, again: 'rerun' },
  /** The queue of a fleet can't be reached. */
  QUEUE_UNREACHABLE: { exit: 1, again: 'retry' },
  /** The queue of a fleet can't be used: it would lose jobs, or belongs to another version. */
  QUEUE_UNFIT: { exit: 2, again: 'mend' },
  /** The user or the system asked the run to stop. */
  STOPPED: { exit: 1, again: 'retry' },
} as const satisfies Record<string, { exit: 1 | 2; again: Again }>;

/** What went wrong, for programs; `docs/errors.md` has what to do. */
export type ErrorCode = keyof typeof codes;

/**
 * The error that users see. Its message is one line: what was expected, what was found and what to do; a long quotation
 * is cut. `details` is shown only by `--verbose` and never has a secret.
 */
export class LedgerlakeError extends Error {
  /** What went wrong, for programs. */
  readonly code: ErrorCode;
  /** HTTP status of the answer that caused the error, where there is one. */
  readonly status: number | undefined;
  /** The request and the answer, shown by `--verbose`. */
  readonly details: string | undefined;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; status?: number; details?: string } = {}) {
    super(shortenMessage(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'LedgerlakeError';
    this.code = code;
    this.status = options.status;
    this.details = options.details;
  }

  /** The process's exit code: 1: the command failed; 2: the user's input is invalid. */
  get exitCode(): 1 | 2 {
    return codes[this.code].exit;
  }

  /** Whether the same request may succeed on a retry. */
  get retryable(): boolean {
    return codes[this.code].again === 'retry';
  }

  /** Whether somebody must mend the cause before another run can succeed. */
  get isPermanent(): boolean {
    return codes[this.code].again === 'mend';
  }
}

/** The error for invalid input on the command line or in a file (exit code 2). */
export function usageError(message: string): LedgerlakeError {
  return new LedgerlakeError('USAGE', message);
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The system's code of an error (`ENOENT`), or undefined for an error that isn't the system's. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The code of anything that was thrown; `UNKNOWN` is an error of the program itself. */
export function codeOf(error: unknown): ErrorCode | 'UNKNOWN' {
  return error instanceof LedgerlakeError ? error.code : 'UNKNOWN';
}

/** Throws the reason of a query's signal, or STOPPED, where it is aborted. */
export function throwIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  if (signal.reason instanceof LedgerlakeError) throw signal.reason;
  throw new LedgerlakeError('STOPPED', 'the query was stopped before its end', { cause: signal.reason });
}
