import { shortened } from './printable.js';

/** What went wrong, for programs: stable codes, each with the exit code it leads to and whether a retry can help. */
const codes = {
  /** The command line or a file of the user's is wrong; nothing was touched. */
  USAGE: { exit: 2, retry: false },
  /** A required path parameter is missing (specification, section 7). */
  MISSING_PARAMETER: { exit: 2, retry: false },
  /** The upstream can't be reached or broke off. */
  UPSTREAM_UNREACHABLE: { exit: 1, retry: true },
  /** The upstream answered with a status that isn't 200. */
  UPSTREAM_STATUS: { exit: 1, retry: true },
  /** The upstream answered with nothing where it had something before. */
  UPSTREAM_EMPTY: { exit: 1, retry: false },
  /** The upstream answered with other orders than those that it had before. */
  UPSTREAM_ACCOUNT: { exit: 1, retry: false },
  /** The upstream's answer isn't what its model says. */
  UPSTREAM_BODY: { exit: 1, retry: true },
  /** An answer, or a JSON text, is larger than the limit for memory. */
  TOO_LARGE: { exit: 1, retry: false },
  /** The token endpoint refused to issue an access token: client id, client secret or refresh token is wrong. */
  SIGN_IN_REFUSED: { exit: 1, retry: false },
  /** The token endpoint can't be reached, has a fault, or doesn't answer as one. */
  SIGN_IN_UNREACHABLE: { exit: 1, retry: true },
  /** A line of an imported file isn't a body of the service, or the file can't be read to its end. */
  BROKEN_LINE: { exit: 1, retry: false },
  /** Bytes that aren't JSON. */
  JSON_SYNTAX: { exit: 1, retry: false },
  /** The lake can't be read or written. */
  LAKE_STORE: { exit: 1, retry: false },
  /** Whether a commit was taken is not known yet. */
  LAKE_UNCLEAR: { exit: 1, retry: false },
  /** The lake's log is damaged or newer than this program. */
  LAKE_LOG: { exit: 1, retry: false },
  /** Another writer got there first and the work can't be rebased onto it. */
  LAKE_CONFLICT: { exit: 1, retry: false },
  /** The lake is older than it was asked to be. */
  LAKE_LAG: { exit: 1, retry: false },
  /** What was written isn't what was handed over. */
  PARQUET_MISMATCH: { exit: 1, retry: false },
  /** What a user's definition of a pipeline does isn't what it says, or it threw. */
  DEFINITION: { exit: 1, retry: false },
  /** Parquet could not be written: the encoder, or the thread that it runs on, failed or ran out of memory. */
  ENCODER: { exit: 1, retry: false },
  /** Standard output, or the file that results go to, takes no more: a full disk. */
  OUTPUT: { exit: 1, retry: false },
  /** A query failed. */
  SQL: { exit: 1, retry: false },
  /** The rows are committed, and what other engines read beside the logs could not be written. */
  EXPORT: { exit: 1, retry: true },
  /** Some slices could not be read and are left open; all others are in the lake. */
  INCOMPLETE: { exit: 1, retry: true },
  /** The queue of a fleet can't be reached. */
  QUEUE_UNREACHABLE: { exit: 1, retry: true },
  /** The queue of a fleet is not fit for it: it would lose jobs, or belongs to another version. */
  QUEUE_UNFIT: { exit: 2, retry: false },
  /** The user or the system asked the run to stop. */
  STOPPED: { exit: 1, retry: false },
} as const satisfies Record<string, { exit: 1 | 2; retry: boolean }>;

/** What went wrong, for programs; `docs/errors.md` has what to do. */
export type ErrorCode = keyof typeof codes;

/**
 * The one error that users meet: its message says what was expected, what came and what to do, in one line, which is cut where
 * what came is long.
 * `details` holds what only `--verbose` shows; never a secret.
 */
export class LedgerlakeError extends Error {
  /** What went wrong, for programs. */
  readonly code: ErrorCode;
  /** HTTP status of the answer that the error is about, where there is one. */
  readonly status: number | undefined;
  /** What `--verbose` adds: the request and the answer. */
  readonly details: string | undefined;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; status?: number; details?: string } = {}) {
    super(shortened(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'LedgerlakeError';
    this.code = code;
    this.status = options.status;
    this.details = options.details;
  }

  /** The process's exit code: 1 not done, 2 the user's input is wrong. */
  get exitCode(): 1 | 2 {
    return codes[this.code].exit;
  }

  /** Whether the same request may succeed when it is sent again. */
  get retryable(): boolean {
    return codes[this.code].retry;
  }
}

/** A user's mistake on the command line or in a file (exit 2). */
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
