import type { Delivery } from '../../core/http-server/answer.js';
import { Refusal } from '../../core/http-server/refusal.js';

/** What is answered, before the headers that every answer carries. */
export interface Outcome {
  readonly status: number;
  readonly body: string;
  /** Headers of its own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: whole. */
  readonly delivery?: Delivery;
}

/** A resource beside the operations and the sign-in, for GET and HEAD: it asks for no access token and uses no quota. */
export type SidePage = () => Promise<Outcome>;

/** `allow`: the methods that a resource takes, for a method that it doesn't. */
export function refused({ status, body }: Refusal, allow = 'GET'): Outcome {
  return { status, body, ...(status === 405 && { headers: { Allow: allow } }) };
}

/** A request that breaks a rule (400), a path or a subject that isn't there (404), a method that isn't taken (405). */
export function requestRefusal(status: 400 | 404 | 405, message: string, received: string): Refusal {
  return new Refusal(status, message, `Received: ${received}`);
}

/** `received` is quoted in the details. */
export function invalidInput(message: string, received: string): Refusal {
  return requestRefusal(400, message, received);
}

/** A page that is larger than the service sends (413), where no request can ask for fewer results. */
export function pageTooLarge(results: number): Refusal {
  return new Refusal(413, 'The page exceeds 10 MB; ask for a shorter range.', `Received: ${results} results`);
}

/** A NextToken that came too late (400). */
export function tokenExpired(minutes: number): Refusal {
  return new Refusal(400, `Token is not valid, token duration is ${minutes} minutes.`);
}

/** A request that goes beyond the quota (429). */
export function overQuota(): Refusal {
  return new Refusal(429, 'You exceeded your quota for the requested resource.');
}

/** A request without the right to an answer (403). `details` say why where the live service does. */
export function denied(details = ''): Refusal {
  return new Refusal(403, 'Access to requested resource is denied.', details);
}

/** What the live service says of an access token that came too late. */
export const accessTokenExpired = 'The access token you provided has expired.';
