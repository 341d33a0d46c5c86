import { LedgerlakeError, type ErrorCode } from '../../core/errors.js';
import { excerpt, withCutToken } from './excerpt.js';

/** Why reading was given up, once everything that may help was tried. */
export type FailureKind = keyof typeof consequences;

/** What becomes of the run: the slice stays open and the others go on, or all of it stops. */
export type Consequence = 'leave-open' | 'stop';

/** The one place that says what a failure to read one slice means for the others. */
export const consequences = {
  /** The chain of pages can't be gone on with: read the slice again from its beginning, or in parts. */
  'token-expired': 'leave-open',
  /** Not even pages of one result are small enough. */
  'too-large': 'leave-open',
  /** The slice must be read in parts. */
  'window-too-long': 'leave-open',
  /** Refused again and again without a reason that is known; a smaller slice may be read. */
  invalid: 'leave-open',
  /** The service has throttled us for a long time; a request of another slice may get through. */
  throttled: 'leave-open',
  /** The service failed on this again and again. */
  fault: 'leave-open',
  /** The pages don't come to an end. */
  loop: 'leave-open',
  /** It failed not long ago, and there is no point in trying again so soon. */
  known: 'leave-open',
  /** No such group or order. */
  'unknown-subject': 'leave-open',
  /** The service gave it an id that nothing can be asked for by. */
  unaskable: 'leave-open',
  /** The credentials don't give access: no slice can be read. */
  denied: 'stop',
  /** The service isn't there: no slice can be read. */
  unreachable: 'stop',
  /** We asked for what can't be asked: that is a fault of this program, and would be repeated. */
  mistake: 'stop',
} as const satisfies Record<string, Consequence>;

/** How far reading got. */
export interface Effort {
  /** Attempts at the last request. */
  readonly tries?: number;
  /** Pages of the question that were received before. */
  readonly pages?: number;
}

/** What a question failed with. Its code, status and details are those of the last attempt's error, its `cause`. */
export class ReadFailure extends LedgerlakeError {
  readonly kind: FailureKind;
  readonly tries: number;
  readonly pages: number;

  constructor(
    kind: FailureKind,
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; status?: number; details?: string } & Effort = {},
  ) {
    super(code, message, options);
    this.name = 'ReadFailure';
    this.kind = kind;
    this.tries = options.tries ?? 0;
    this.pages = options.pages ?? 0;
  }

  /** What the rest of the run does. */
  get consequence(): Consequence {
    return consequences[this.kind];
  }

  /** The same failure, whose message goes on with a sentence more. */
  saying(more: string): ReadFailure {
    const { tries, pages } = this;
    return new ReadFailure(this.kind, this.code, `${this.message} ${more}`, { ...optionsOf(this), tries, pages });
  }

  /** The same failure, with other consequences. */
  as(kind: FailureKind): ReadFailure {
    return new ReadFailure(kind, this.code, this.message, { ...optionsOf(this), tries: this.tries, pages: this.pages });
  }

  /** The same failure, told by the chain that it ended. */
  after(pages: number): ReadFailure {
    return new ReadFailure(this.kind, this.code, this.message, { ...optionsOf(this), tries: this.tries, pages });
  }
}

/** The failure that the last attempt's error comes to. `more`: a sentence that its message goes on with. */
export function failureFrom(kind: FailureKind, error: LedgerlakeError, effort: Effort, more = ''): ReadFailure {
  const { tries = 0 } = effort;
  const tried = tries > 1 ? ` Tried ${tries} times.` : '';
  const message = `${excerpt(withCutToken(error.message), 1000)}${tried}${more === '' ? '' : ` ${more}`}`;
  return new ReadFailure(kind, error.code, message, { ...optionsOf(error), cause: error, ...effort });
}

function optionsOf({ cause, status, details }: LedgerlakeError) {
  return {
    ...(cause === undefined ? {} : { cause }),
    ...(status === undefined ? {} : { status }),
    ...(details === undefined ? {} : { details: withCutToken(details) }),
  };
}
