/**
 * Why an attempt gave no page, as far as what to do about it differs. An API says most of it in words only: status 400 with
 * the code `InvalidInput` stands for at least six of these.
 */
export type Cause =
  /** The quota is used up, or the API says so. */
  | 'throttled'
  /** Transient: the API, or the way to it, failed; the same request may succeed later. */
  | 'fault'
  /** Something other than the API answered: a web page, a redirect. */
  | 'stranger'
  /** No connection that speaks HTTP was made. */
  | 'no-connection'
  /** The cursor is too old, or unknown by now. */
  | 'cursor-expired'
  /** The page is larger than the API can send. */
  | 'too-large'
  /** The dates are further apart than the API allows. */
  | 'window-too-long'
  /** A date bound isn't far enough in the past yet, by the API's clock. */
  | 'bound-too-late'
  /** A refusal without a reason that is known: sometimes it passes. */
  | 'invalid'
  /** The access token has expired, as the API says. */
  | 'access-expired'
  /** The API refused the access token. */
  | 'access-refused'
  /** Permanent: no access, and no access token that could be renewed. */
  | 'denied'
  /** There is no such group or order. */
  | 'unknown-subject'
  /** Permanent: the request breaks the rules. */
  | 'mistake'
  /** Not the API's: a signal's reason, a failed sign-in, an error of this program. */
  | 'other';
