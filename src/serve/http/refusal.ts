const codes = {
  400: 'InvalidInput',
  403: 'Unauthorized',
  404: 'ResourceNotFound',
  405: 'MethodNotAllowed',
  408: 'InvalidInput',
  421: 'InvalidInput',
  429: 'QuotaExceeded',
  431: 'InvalidInput',
  500: 'InternalFailure',
  503: 'ServiceUnavailable',
} as const;

export type RefusalStatus = keyof typeof codes;

/** A request that the service doesn't grant: its status, the rule that was broken, and in `details` what came. */
export class Refusal extends Error {
  readonly status: RefusalStatus;
  readonly details: string;

  constructor(status: RefusalStatus, message: string, details = '') {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.details = details;
  }

  /** The answer's JSON: `{"errors":[{"code","message","details"}]}`. */
  get body(): string {
    return JSON.stringify({
      errors: [{ code: codes[this.status], message: this.message, details: this.details }],
    });
  }
}

/** A parameter that breaks a rule (400). `came` is quoted in the details, cut where it is very long. */
export function invalidInput(message: string, came?: string): Refusal {
  if (came === undefined) return new Refusal(400, message);
  return new Refusal(400, message, `Received: ${came.length > 200 ? `${came.slice(0, 200)}…` : came}`);
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
