const codes = {
  400: 'InvalidInput',
  403: 'Unauthorized',
  404: 'ResourceNotFound',
  405: 'MethodNotAllowed',
  408: 'InvalidInput',
  414: 'InvalidInput',
  421: 'InvalidInput',
  429: 'QuotaExceeded',
  431: 'InvalidInput',
  500: 'InternalFailure',
  503: 'ServiceUnavailable',
} as const;

export type RefusalStatus = keyof typeof codes;

/** Characters of `details`. */
const mostDetails = 200;

/** A text that came, for an error: cut where it is very long. */
export function quoted(text: string, most = mostDetails): string {
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text.toWellFormed();
}

/** A request that isn't granted: its status, the rule that was broken, and in `details` what came. */
export class Refusal extends Error {
  readonly status: RefusalStatus;
  /** At most 200 characters. */
  readonly details: string;

  constructor(status: RefusalStatus, message: string, details = '') {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.details = quoted(details);
  }

  /** The answer's JSON: `{"errors":[{"code","message","details"}]}`. */
  get body(): string {
    return JSON.stringify({
      errors: [{ code: codes[this.status], message: this.message, details: this.details }],
    });
  }
}

/** What is answered where the server itself fails: it says nothing of why. */
export function failure(): Refusal {
  return new Refusal(500, 'The service failed; the same request may succeed later.');
}
