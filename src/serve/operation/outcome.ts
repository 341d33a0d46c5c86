import type { Delivery } from '../../core/http-server/answer.js';
import { HttpRefusal } from '../../core/http-server/refusal.js';

/** An answer without the headers that every answer has. */
export interface Outcome {
  readonly status: number;
  readonly body: string | Uint8Array;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: whole. */
  readonly delivery?: Delivery;
}

/** A page besides the operations and the sign-in, for GET and HEAD: it needs no access token and uses no quota. */
export type SidePage = () => Promise<Outcome>;

/** The outcome for a refusal. `allow`: the methods that the resource accepts, sent with status 405. */
export function refused({ status, body }: HttpRefusal, allow = 'GET'): Outcome {
  return { status, body, ...(status === 405 && { headers: { Allow: allow } }) };
}

/** A refusal of a request that breaks a rule (400), of an unknown path or subject (404), or of a method (405). */
export function requestRefusal(status: 400 | 404 | 405, message: string, received: string): HttpRefusal {
  return new HttpRefusal(status, message, `Received: ${received}`);
}

/** A refusal with status 400; its details quote `received`. */
export function invalidInput(message: string, received: string): HttpRefusal {
  return requestRefusal(400, message, received);
}

/** A refusal of a page that is too large (413), where requests can't ask for fewer results. */
export function pageTooLarge(results: number): HttpRefusal {
  return new HttpRefusal(413, 'The page exceeds 10 MB; ask for a shorter range.', `Received: ${results} results`);
}

/** A refusal of an expired NextToken (400). */
export function tokenExpired(minutes: number): HttpRefusal {
  return new HttpRefusal(400, `Token is not valid, token duration is ${minutes} minutes.`);
}

/** A refusal of a request that exceeds the quota (429). */
export function overQuota(): HttpRefusal {
  return new HttpRefusal(429, 'You exceeded your quota for the requested resource.');
}

/** A refusal of an unauthorised request (403). `details` give the reason where the live service gives one. */
export function denied(details = ''): HttpRefusal {
  return new HttpRefusal(403, 'Access to requested resource is denied.', details);
}

/** The live service's words for an expired access token. */
export const accessTokenExpired = 'The access token you provided has expired.';
