/**
 * Why an attempt gave no page, as far as what to do about it differs. The service tells most of it in words only:
 * status 400 with the code `InvalidInput` stands for at least six of these.
 */
export type Cause =
  /** The quota is used up, or the service says so. */
  | 'throttled'
  /** The service, or the way to it, failed; the same may succeed later. */
  | 'fault'
  /** Something other than the service answered: a web page, a redirect. */
  | 'stranger'
  /** No connection that speaks HTTP came about. */
  | 'no-connection'
  /** The NextToken is too old, or isn't known any more. */
  | 'token-expired'
  /** The page is larger than the service can send. */
  | 'too-large'
  /** The dates are further apart than the service allows. */
  | 'window-too-long'
  /** A date bound isn't two minutes in the past yet, by the service's clock. */
  | 'bound-too-late'
  /** `InvalidInput` that says nothing known: at times it passes. */
  | 'invalid'
  /** The access token that was sent has expired, as the service says. */
  | 'access-expired'
  /** The service didn't take the access token that was sent. */
  | 'access-refused'
  /** It didn't grant access, and there is no access token that could be renewed. */
  | 'denied'
  /** There is no such group or order. */
  | 'unknown-subject'
  /** A request that breaks the rules. */
  | 'mistake'
  /** None of the service's: a signal's reason, what signing in has against it, an error of this program. */
  | 'other';
