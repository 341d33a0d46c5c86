import { LedgerlakeError, type ErrorCode } from '../../core/errors.js';
import type { SliceVerdict } from '../run/pipeline.js';
import { excerpt, withCutToken, type Cause } from './api-refusal.js';

/**
 * Why a query could not be read after all attempts: the cause of the last one, without what only decides on the next attempt, or what
 * no single attempt shows.
 */
export type FailureKind =
  | Exclude<Cause, 'not-the-api' | 'no-connection' | 'certificate' | 'access-expired' | 'access-refused' | 'other'>
  /** There is no connection to the API. */
  | 'unreachable'
  /** The page isn't JSON, and the rest of it can't be read either; smaller pages, or a smaller slice, may be. */
  | 'unreadable'
  /** The pages don't end. */
  | 'loop'
  /** The id of its group or order can't be part of a request. */
  | 'unaskable';

/**
 * Failures that end the run: no slice can be read without access (`denied`) or a connection, and a request that breaks the
 * API's rules (`mistake`) is an error of this program. After any other the slice stays open, and the others continue.
 */
const fatal: readonly FailureKind[] = ['denied', 'unreachable', 'mistake'];

interface FailureOptions {
  readonly cause?: unknown;
  readonly status?: number | undefined;
  readonly details?: string | undefined;
  /** Attempts at the last request. */
  readonly tries?: number;
  /** Pages received before. */
  readonly pages?: number;
  readonly refusedAfter?: number | undefined;
}

/** The failure to read a query. Code, status and details are those of the last attempt's error, its `cause`. */
export class ReadFailure extends LedgerlakeError {
  readonly kind: FailureKind;
  readonly tries: number;
  readonly pages: number;
  /** Results behind which the API refuses to go on, as there are too many: another attempt would be in vain. */
  readonly refusedAfter: number | undefined;

  constructor(kind: FailureKind, code: ErrorCode, message: string, options: FailureOptions = {}) {
    const { cause, status, details, tries = 0, pages = 0, refusedAfter } = options;
    super(code, message, {
      ...(cause !== undefined && { cause }),
      ...(status !== undefined && { status }),
      ...(details !== undefined && { details: withCutToken(details) }),
    });
    this.name = 'ReadFailure';
    this.kind = kind;
    this.tries = tries;
    this.pages = pages;
    this.refusedAfter = refusedAfter;
  }

  get endsRun(): boolean {
    return fatal.includes(this.kind);
  }

  /** A copy with something else. */
  with({
    kind = this.kind,
    message = this.message,
    ...changed
  }: Pick<FailureOptions, 'pages' | 'refusedAfter'> & { readonly kind?: FailureKind; readonly message?: string }) {
    const { code, cause, status, details, tries, pages, refusedAfter } = this;
    return new ReadFailure(kind, code, message, { cause, status, details, tries, pages, refusedAfter, ...changed });
  }
}

/** The failure of the last attempt's error. `advice`: the last sentence of the message. */
export function failureFrom(kind: FailureKind, error: LedgerlakeError, tries: number, advice: string): ReadFailure {
  const { code, status, details } = error;
  const tried = tries > 1 ? `Tried ${tries} times.` : '';
  const message = sentences(excerpt(withCutToken(error.message), 1000), tried, advice);
  return new ReadFailure(kind, code, message, { cause: error, status, details, tries });
}

/** A message, and the sentences after it that aren't empty. */
function sentences(message: string, ...more: readonly string[]): string {
  const others = more.filter((sentence) => sentence !== '');
  if (others.length === 0) return message;
  return [message.endsWith('.') ? message : `${message}.`, ...others].join(' ');
}

/**
 * The verdict on a slice that failed with an error.
 *
 * @param remedies verdicts by failure kind; the default is `skip`
 */
export function readVerdict(error: unknown, remedies: Partial<Record<FailureKind, SliceVerdict>>): SliceVerdict {
  // An empty window would replace rows: the others continue.
  if (error instanceof LedgerlakeError && error.code === 'UPSTREAM_EMPTY') return 'skip';
  return error instanceof ReadFailure && !error.endsRun ? (remedies[error.kind] ?? 'skip') : 'abort';
}
