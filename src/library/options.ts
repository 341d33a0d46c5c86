import { usageError } from '../core/errors.js';
import type { RunEvent } from '../core/events/run-event.js';
import { nearestName } from '../core/text/fault-line.js';

/** What an account signs in with. It is sent to the token endpoint, and is never logged or written anywhere. */
export interface Credentials {
  /** Client id of the application that the seller authorised. */
  readonly clientId: string;
  /** Its client secret. */
  readonly clientSecret: string;
  /** The seller's refresh token for the application. */
  readonly refreshToken: string;
  /** Where the refresh token is turned into access tokens; left out: what is set for the account, else Login with Amazon. */
  readonly tokenEndpoint?: string | undefined;
}

/** Whose events are read, and from where. What is left out comes from the environment, then from the configuration file. */
export interface AccountOptions {
  /** Whose events; default the only account that is configured, else `demo` with the embedded service. */
  readonly account?: string | undefined;
  /** The service's base address; default the account's, else the embedded service. */
  readonly endpoint?: string | undefined;
  /** What the account signs in with; left out: what is set for it. */
  readonly credentials?: Credentials | undefined;
  /** Requests per second for each operation, until the service announces its rate rate; default 0.5. */
  readonly rate?: number | undefined;
  /** Requests at once for each operation; default what each API allows. */
  readonly burst?: number | undefined;
  /** Configuration file; default that of `LEDGERLAKE_CONFIG`, else `ledgerlake.config.json` of the working folder where there is one. */
  readonly config?: string | undefined;
  /** Takes what happens, when it happens. What it throws stops the run, whose promise it rejects. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
}

/** How the value of an option is checked. */
type Kind = 'text' | 'number' | 'flag' | 'texts' | 'values' | 'instant' | 'function' | 'signal' | 'credentials';

/** The options of a function, each with its kind. */
export type OptionKinds<T> = { readonly [Name in keyof Required<T>]: Kind };

/** Kinds of the options of everything that asks the service. */
export const accountKinds: OptionKinds<AccountOptions> = {
  account: 'text',
  endpoint: 'text',
  credentials: 'credentials',
  rate: 'number',
  burst: 'number',
  config: 'text',
  onEvent: 'function',
};

const kinds: Readonly<Record<Kind, { readonly expected: string; readonly isValid: (value: unknown) => boolean }>> = {
  text: { expected: 'a text that is not empty', isValid: isText },
  number: { expected: 'a number', isValid: (value) => typeof value === 'number' },
  flag: { expected: 'true or false', isValid: (value) => typeof value === 'boolean' },
  texts: { expected: 'a list of texts', isValid: (value) => Array.isArray(value) && value.every(isText) },
  values: { expected: 'a list of texts, numbers, bigints, booleans and nulls', isValid: areValues },
  instant: { expected: 'a Date, or a text in ISO 8601', isValid: (value) => value instanceof Date || isText(value) },
  function: { expected: 'a function', isValid: (value) => typeof value === 'function' },
  signal: { expected: 'an AbortSignal', isValid: (value) => value instanceof AbortSignal },
  credentials: { expected: 'an object with clientId, clientSecret and refreshToken', isValid: areCredentials },
};

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function areValues(value: unknown): boolean {
  const types = ['string', 'number', 'bigint', 'boolean'];
  return Array.isArray(value) && value.every((each) => each === null || types.includes(typeof each));
}

function areCredentials(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { clientId, clientSecret, refreshToken, tokenEndpoint = 'none', ...others } = value as Record<string, unknown>;
  return [clientId, clientSecret, refreshToken, tokenEndpoint].every(isText) && Object.keys(others).length === 0;
}

/**
 * Checks what a program has given, as nothing says that it was compiled. No value is shown: it may be a secret.
 *
 * @throws LedgerlakeError USAGE for a name that no option has, and for a value of another type
 */
export function checkOptions<T extends object>(subject: string, options: T, known: OptionKinds<T>): void {
  const all: Readonly<Partial<Record<string, Kind>>> = known;
  const given: unknown = options;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw usageError(`expected the options of ${subject} to be an object`);
  }
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    const kind = Object.hasOwn(all, name) ? all[name] : undefined;
    if (kind === undefined) {
      const nearest = nearestName(name, Object.keys(all));
      const hint = nearest === undefined ? `it takes ${Object.keys(all).join(', ')}` : `did you mean ${nearest}?`;
      throw usageError(`expected an option of ${subject}, got ${JSON.stringify(name)}; ${hint}`);
    }
    const { expected, isValid } = kinds[kind];
    if (value !== undefined && !isValid(value))
      throw usageError(`expected the option ${name} of ${subject} to be ${expected}`);
  }
}

/** An option's value as the command line has it. */
export function textOf(value: string | number | Date | undefined): string | undefined {
  if (value === undefined) return undefined;
  // Of an invalid date: a text that is no instant either, and is refused as such.
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : String(value);
}
