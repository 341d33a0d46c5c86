import { LedgerlakeError, type ErrorCode } from '../../core/errors.js';
import type { Verdict } from '../run/pipeline.js';
import { excerpt, withCutToken } from './api-refusal.js';

/** Why reading a slice was given up, once everything that may help was tried. Its slice stays open, and the others go on. */
type SliceFailureKind =
  /** The pages can't be continued: read the slice again from its beginning, or split it. */
  | 'cursor-expired'
  /** Not even the smallest page is small enough. */
  | 'too-large'
  /** The slice must be split. */
  | 'window-too-long'
  /** Refused again and again without a reason that is known; a smaller slice may be accepted. */
  | 'invalid'
  /** A date bound isn't far enough in the past by the API's clock; an earlier part of the slice may be accepted. */
  | 'bound-too-late'
  /** Throttled for a long time; a request of another slice may get through. */
  | 'throttled'
  /** The API failed on this again and again. */
  | 'fault'
  /** The pages don't come to an end. */
  | 'loop'
  /** It failed not long ago, and it is too soon to try again. */
  | 'known'
  /** No such group or order. */
  | 'unknown-subject'
  /** The API gave it an id that can't be part of a request. */
  | 'unaskable';

/**
 * The same where the run ends: no slice can be read where the credentials don't give access (`denied`) or the API can't be
 * reached, and a request that breaks the API's rules (`mistake`) is a fault of this program, which would be repeated.
 */
const fatal = ['denied', 'unreachable', 'mistake'] as const;

export type FailureKind = SliceFailureKind | (typeof fatal)[number];

interface FailureOptions {
  readonly cause?: unknown;
  readonly status?: number | undefined;
  readonly details?: string | undefined;
  /** Attempts at the last request. */
  readonly tries?: number;
  /** Pages that were received before. */
  readonly pages?: number;
}

/** What reading failed of. Its code, status and details are those of the last attempt's error, its `cause`. */
export class ReadFailure extends LedgerlakeError {
  readonly kind: FailureKind;
  readonly tries: number;
  readonly pages: number;

  constructor(kind: FailureKind, code: ErrorCode, message: string, options: FailureOptions = {}) {
    const { cause, status, details, tries = 0, pages = 0 } = options;
    super(code, message, {
      ...(cause !== undefined && { cause }),
      ...(status !== undefined && { status }),
      ...(details !== undefined && { details: withCutToken(details) }),
    });
    this.name = 'ReadFailure';
    this.kind = kind;
    this.tries = tries;
    this.pages = pages;
  }

  get endsRun(): boolean {
    return (fatal as readonly string[]).includes(this.kind);
  }

  /** The same failure, of another kind, after other pages, or with sentences before its message that say why. */
  with({ kind = this.kind, why = '', pages = this.pages }: { kind?: FailureKind; why?: string; pages?: number }) {
    const { code, message, cause, status, details, tries } = this;
    const known = why === '' ? message : `${why} ${message}`;
    return new ReadFailure(kind, code, known, { cause, status, details, tries, pages });
  }
}

/** The failure that the last attempt's error leads to. `advice`: a sentence that its message ends with. */
export function failureFrom(kind: FailureKind, error: LedgerlakeError, tries: number, advice: string): ReadFailure {
  const { code, status, details } = error;
  const tried = tries > 1 ? `Tried ${tries} times.` : '';
  const message = sentences(excerpt(withCutToken(error.message), 1000), tried, advice);
  return new ReadFailure(kind, code, message, { cause: error, status, details, tries });
}

/** A message, which has no full stop of its own, and the sentences behind it that aren't empty. */
function sentences(message: string, ...more: readonly string[]): string {
  const others = more.filter((sentence) => sentence !== '');
  if (others.length === 0) return message;
  return [message.endsWith('.') ? message : `${message}.`, ...others].join(' ');
}

/**
 * What becomes of a slice that fails with this.
 *
 * @param remedies what may help a slice that would be left open otherwise
 */
export function readVerdict(error: unknown, remedies: Partial<Record<FailureKind, Verdict>>): Verdict {
  // A window that came back empty and would replace rows: the others go on.
  if (error instanceof LedgerlakeError && error.code === 'UPSTREAM_EMPTY') return 'skip';
  return error instanceof ReadFailure && !error.endsRun ? (remedies[error.kind] ?? 'skip') : 'abort';
}
