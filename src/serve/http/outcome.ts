import type { Delivery } from '../../core/http-server/answer.js';
import type { Refusal } from '../../core/http-server/refusal.js';

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
