import { LedgerlakeError, type ErrorCode } from '../../core/errors.js';
import { excerpt, withCutToken } from './api-refusal.js';
import type { Verdict } from '../run/pipeline.js';

/** Why reading was given up, once everything that may help was tried. */
export type FailureKind = keyof typeof consequences;

/** What becomes of the run: the slice stays open and the others go on, or all of it stops. */
export type Consequence = 'leave-open' | 'stop';

/** The one place that says what a failure to read one slice means for the others. */
export const consequences = {
  /** The pages can't be continued: read the slice again from its beginning, or split it. */
  'cursor-expired': 'leave-open',
  /** Not even the smallest page is small enough. */
  'too-large': 'leave-open',
  /** The slice must be split. */
  'window-too-long': 'leave-open',
  /** Refused again and again without a reason that is known; a smaller slice may be accepted. */
  invalid: 'leave-open',
  /** Throttled for a long time; a request of another slice may get through. */
  throttled: 'leave-open',
  /** The API failed on this again and again. */
  fault: 'leave-open',
  /** The pages don't come to an end. */
  loop: 'leave-open',
  /** It failed not long ago, and it is too soon to try again. */
  known: 'leave-open',
  /** No such group or order. */
  'unknown-subject': 'leave-open',
  /** The API gave it an id that can't be part of a request. */
  unaskable: 'leave-open',
  /** The credentials don't give access: no slice can be read. */
  denied: 'stop',
  /** The API can't be reached: no slice can be read. */
  unreachable: 'stop',
  /** The request breaks the API's rules: a fault of this program, which would be repeated. */
  mistake: 'stop',
} as const satisfies Record<string, Consequence>;

export interface FailureOptions {
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

  /** What the rest of the run does. */
  get consequence(): Consequence {
    return consequences[this.kind];
  }

  /** The same failure, of another kind, after other pages, or with a message that goes on. */
  with({
    kind = this.kind,
    more = '',
    ...changed
  }: FailureOptions & { kind?: FailureKind; more?: string }): ReadFailure {
    const message = more === '' ? this.message : `${this.message} ${more}`;
    return new ReadFailure(kind, this.code, message, {
      ...optionsOf(this),
      tries: this.tries,
      pages: this.pages,
      ...changed,
    });
  }
}

/** The failure that the last attempt's error leads to. `advice`: a sentence that its message ends with. */
export function failureFrom(kind: FailureKind, error: LedgerlakeError, tries: number, advice: string): ReadFailure {
  const tried = tries > 1 ? ` Tried ${tries} times.` : '';
  const message = `${excerpt(withCutToken(error.message), 1000)}${tried}${advice === '' ? '' : ` ${advice}`}`;
  return new ReadFailure(kind, error.code, message, { ...optionsOf(error), cause: error, tries });
}

function optionsOf({ cause, status, details }: LedgerlakeError): FailureOptions {
  return { cause, status, details };
}

/**
 * What becomes of a slice that fails with this.
 *
 * @param remedies what may help a slice that would be left open otherwise
 */
export function readVerdict(error: unknown, remedies: Partial<Record<FailureKind, Verdict>>): Verdict {
  // A window that came back empty and would replace rows: the others go on.
  if (error instanceof LedgerlakeError && error.code === 'UPSTREAM_EMPTY') return 'skip';
  if (!(error instanceof ReadFailure) || error.consequence === 'stop') return 'abort';
  return remedies[error.kind] ?? 'skip';
}
