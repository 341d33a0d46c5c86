import { LedgerlakeError, type ErrorCode } from '../../core/errors.js';
import { excerpt, withCutToken } from './api-refusal.js';
import { causeRules, type Cause, type SliceVerdict } from './causes.js';

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
  /** The cause of the last attempt, or what no single attempt shows; without what only decides on the next attempt. */
  readonly kind: Cause;
  readonly tries: number;
  readonly pages: number;
  /** Results behind which the API refuses to go on, as there are too many: another attempt would be in vain. */
  readonly refusedAfter: number | undefined;

  constructor(kind: Cause, code: ErrorCode, message: string, options: FailureOptions = {}) {
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

  /** Whether no other query can or may be read either. */
  get endsRun(): boolean {
    return causeRules[this.kind].slice === 'abort';
  }

  override get isPermanent(): boolean {
    return causeRules[this.kind].isPermanent ?? super.isPermanent;
  }

  /** A copy with something else. */
  with({
    kind = this.kind,
    message = this.message,
    ...changed
  }: Pick<FailureOptions, 'pages' | 'refusedAfter'> & { readonly kind?: Cause; readonly message?: string }) {
    const { code, cause, status, details, tries, pages, refusedAfter } = this;
    return new ReadFailure(kind, code, message, { cause, status, details, tries, pages, refusedAfter, ...changed });
  }
}

/** The failure of the last attempt's error. `advice`: the last sentence of the message. */
export function failureFrom(kind: Cause, error: LedgerlakeError, tries: number, advice: string): ReadFailure {
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

/** The verdict on a slice of a pipeline that failed with an error. */
export function sliceVerdict(
  { judge = readVerdict }: { readonly judge?: (error: unknown) => SliceVerdict },
  error: unknown,
): SliceVerdict {
  return judge(error);
}

/**
 * The verdict on a slice that failed with an error, where the pipeline has none of its own.
 *
 * @param others verdicts other than those of `causeRules`
 */
export function readVerdict(error: unknown, others: Partial<Record<Cause, SliceVerdict>> = {}): SliceVerdict {
  // An empty window would replace rows: the others continue.
  if (error instanceof LedgerlakeError && error.code === 'UPSTREAM_EMPTY') return 'skip';
  if (!(error instanceof ReadFailure)) return 'abort';
  const { kind, pages } = error;
  // Before the first page the window itself may be refused.
  const isWindow = pages === 0 && (kind === 'invalid' || kind === 'bound-too-late');
  return others[kind] ?? (isWindow ? 'shorten' : causeRules[kind].slice);
}
