/**
 * Why a request, or a query of several, has failed; each cause is handled differently. An API states most causes only in the message:
 * status 400 with the code `InvalidInput` means at least six of them.
 */
export type Cause =
  /** The API reports that the quota is used up. */
  | 'throttled'
  /** Transient: the API or the network failed; the same request may succeed later. */
  | 'fault'
  /** Something other than the API answered: a web page, a redirect. */
  | 'not-the-api'
  /** No connection that speaks HTTP was made. */
  | 'no-connection'
  /** `not-the-api` or `no-connection` before the API's first answer to any run: the address is probably wrong. */
  | 'never-there'
  /** The certificate of the API isn't trusted, or is another host's. */
  | 'certificate'
  /** There is no connection to the API. */
  | 'unreachable'
  /** The cursor is too old, or unknown. */
  | 'cursor-expired'
  /** The page is larger than the API can send. */
  | 'too-large'
  /** The page isn't JSON, and the rest of it can't be read either; smaller pages, or a smaller slice, may be. */
  | 'unreadable'
  /** The pages don't end. */
  | 'loop'
  /** The dates are further apart than the API allows. */
  | 'window-too-long'
  /** A date bound is too recent by the API's clock. */
  | 'bound-too-late'
  /** A refusal for an unknown reason, sometimes transient. */
  | 'invalid'
  /** The API reports that the access token has expired. */
  | 'access-expired'
  /** The API refused the access token. */
  | 'access-refused'
  /** No access, and no access token to renew. */
  | 'denied'
  /** The group or order doesn't exist. */
  | 'unknown-subject'
  /** The id of the group or order can't be part of a request. */
  | 'unaskable'
  /** The request breaks the rules: an error of this program. */
  | 'mistake'
  /** Not from the API: a signal's reason, a failed sign-in, an error of this program. */
  | 'other';

/** What an error says about the slice that can't be read; `outcomeOf` decides what is done. */
export type SliceVerdict =
  /** The run ends: no other slice can or may be read. */
  | 'abort'
  /** The next run reads it; the others continue. */
  | 'skip'
  /** As `skip`, for a reason that no other slice shares: it doesn't count as a sign that all of them fail. */
  | 'skip-alone'
  /** It can't be resumed: it is split, or read again from its beginning. */
  | 'retry'
  /** It is too large: it is split. */
  | 'split'
  /** Its pages don't end: it is split into no less than days, since shorter windows would fail too. */
  | 'split-to-days'
  /** The upstream accepts no window of its length: this and all others of that length are split. */
  | 'shorten';

/** When a request that failed is sent again, and what follows where no attempt succeeds. */
export interface CauseRule {
  /** Attempts after the first one, at most. */
  readonly retries: number;
  /** Milliseconds from the first occurrence of the cause to the last attempt. */
  readonly withinMs: number;
  /** The longest pause before the second attempt; it doubles with each further one. */
  readonly firstPauseMs: number;
  /** The upper limit of the pauses. */
  readonly longestPauseMs: number;
  /** The second attempt has no pause. */
  readonly isImmediate?: true;
  /** The cause of the failure after the last attempt; left out: the same. */
  readonly failure?: Cause;
  /** What becomes of the slice; a pipeline may judge otherwise. */
  readonly slice: SliceVerdict;
  /** Whether somebody must mend the cause before another run can succeed; left out: the error code decides. */
  readonly isPermanent?: true;
}

const minute = 60_000;

function again(retries: number, withinMs: number, firstPauseMs: number, longestPauseMs: number) {
  return { retries, withinMs, firstPauseMs, longestPauseMs };
}

const never = again(0, 0, 0, 0);

/**
 * What is done about each cause; `codes` in `core/errors.ts` says the rest by error code. The paginator handles some causes that are
 * never sent again: expired cursors and pages that are too large.
 */
export const causeRules: Readonly<Record<Cause, CauseRule>> = {
  // Throttling can last for minutes.
  throttled: { ...again(Infinity, 30 * minute, 2000, minute), slice: 'skip' },
  fault: { ...again(7, 20 * minute, 2000, minute), slice: 'skip' },
  'not-the-api': { ...again(7, 20 * minute, 2000, minute), failure: 'fault', slice: 'skip' },
  'no-connection': { ...again(7, 20 * minute, 2000, minute), failure: 'unreachable', slice: 'abort' },
  'never-there': { ...again(2, minute, 1000, 2000), failure: 'unreachable', slice: 'abort' },
  certificate: { ...never, failure: 'unreachable', slice: 'abort' },
  unreachable: { ...never, slice: 'abort' },
  'cursor-expired': { ...never, slice: 'retry' },
  'too-large': { ...never, slice: 'skip' },
  unreadable: { ...never, slice: 'split-to-days' },
  loop: { ...never, slice: 'split-to-days' },
  'window-too-long': { ...never, slice: 'shorten' },
  // The pause lasts until the API's clock accepts the bound, within this limit.
  'bound-too-late': { ...again(5, 10 * minute, 10_000, 2 * minute), slice: 'split-to-days' },
  invalid: { ...again(3, 20 * minute, 1000, 4000), slice: 'split-to-days' },
  // With another access token; later attempts allow for an API that doesn't know it yet.
  'access-expired': { ...again(3, 10 * minute, 2000, 8000), isImmediate: true, failure: 'denied', slice: 'abort' },
  // One retry, with another access token.
  'access-refused': { ...again(1, Infinity, 0, 0), failure: 'denied', slice: 'abort' },
  denied: { ...never, slice: 'abort', isPermanent: true },
  'unknown-subject': { ...never, slice: 'skip-alone' },
  unaskable: { ...never, slice: 'skip-alone' },
  mistake: { ...never, slice: 'abort', isPermanent: true },
  other: { ...never, slice: 'abort' },
};
