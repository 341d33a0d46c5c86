import { createHash, timingSafeEqual } from 'node:crypto';
import { usageError } from '../../core/errors.js';
import type { Clock } from '../../core/clock.js';
import { IssuedAccessTokens } from './signed-tokens.js';
import type { HttpRequest } from '../../core/http-server/answer.js';
import { type Outcome, accessTokenExpired, denied, requestRefusal } from './outcome.js';
import type { Refusal } from '../../core/http-server/refusal.js';

/** After the first failure, milliseconds; twice as much after each further one. */
const firstDelayMs = 250;
const longestDelayMs = 4000;

/** Failures are forgotten so long after the last one. */
const forgottenMs = 60_000;

/** Attempts that wait at once. */
const mostWaiting = 8;

/** Seconds after which one that found no room may come again. */
const retryAfterSeconds = longestDelayMs / 1000;

/**
 * Makes guessing slow: once an attempt to sign in has failed, every attempt waits before it is looked at, right or wrong, and
 * few may wait. So eight attempts are looked at in four seconds, however many connections they come on.
 */
class GuessDelay {
  readonly #clock: Clock;
  #failures = 0;
  #lastAt = -Infinity;
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to whether the attempt may be looked at, once it has waited; the signal ends its waiting. */
  async wait(signal: AbortSignal): Promise<boolean> {
    if (this.#clock.now() - this.#lastAt > forgottenMs) this.#failures = 0;
    if (this.#failures === 0) return true;
    if (this.#waiting >= mostWaiting) return false;
    this.#waiting += 1;
    try {
      await this.#clock.sleep(Math.min(longestDelayMs, firstDelayMs * 2 ** (this.#failures - 1)), signal);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    } finally {
      this.#waiting -= 1;
    }
  }

  failed(): void {
    this.#failures += 1;
    this.#lastAt = this.#clock.now();
  }

  succeeded(): void {
    this.#failures = 0;
  }
}

/** The members of a sign-in request, or why it can't be read: never with a value of it, which may be secret. */
type SignInBody = ReadonlyMap<string, string> | { readonly wrong: string };

function formMembers(text: string): SignInBody {
  const members = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (members.has(name)) return { wrong: 'The request repeats a parameter' };
    members.set(name, value);
  }
  return members;
}

function jsonMembers(text: string): SignInBody {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { wrong: 'The body is not JSON' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { wrong: 'The body is not a JSON object' };
  }
  const members = new Map<string, string>();
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'string') return { wrong: 'The body holds a parameter that is not a string' };
    members.set(name, member);
  }
  return members;
}

/**
 * Reads the body of a sign-in request: JSON where its type or its first byte says so, else a form (RFC 6749,
 * appendix B). Never throws. A parameter without a value is one that was left out (section 3.2).
 */
export function readSignInBody(body: Buffer, contentType: string): SignInBody {
  const text = body.toString('utf8');
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(contentType);
  const isJson = /^application\/json\b/i.test(contentType) || (!isForm && text.trimStart().startsWith('{'));
  const members = isJson ? jsonMembers(text) : formMembers(text);
  return members instanceof Map ? new Map([...members].filter(([, value]) => value !== '')) : members;
}

export interface SignInOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** How long an access token is taken, milliseconds; default an hour. */
  readonly accessTokenLifeMs?: number | undefined;
  /** The refresh tokens that are taken; default: any. */
  readonly refreshTokens?: readonly string[] | undefined;
}

/** The sign-in of a service: gives out access tokens, and looks at those that come. */
interface SignIn {
  /** Answers a request to the sign-in (RFC 6749, sections 5 and 6). `now`: milliseconds since 1970. */
  answer(request: HttpRequest, now: number): Promise<Outcome>;
  /** Why a request may not ask (403); undefined: it carries a valid access token. */
  refusal(request: HttpRequest, now: number): Refusal | undefined;
  /** Whose request it is, of those that may ask. */
  accountOf(request: HttpRequest): string;
}

export const signInPath = '/auth/o2/token';
const tokenHeader = 'x-amz-access-token';

const usualLifeMs = 3_600_000;

/** In a time that depends on neither text. */
function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return first !== undefined && second !== undefined && timingSafeEqual(first, second);
}

function failure(status: number, error: string, description: string): Outcome {
  return outcome(status, { error, error_description: description });
}

function outcome(status: number, body: object): Outcome {
  // Nobody on the way may keep what holds a token (RFC 6749, section 5.1).
  return { status, body: JSON.stringify(body), headers: { 'Cache-Control': 'no-store', Pragma: 'no-cache' } };
}

function headerOf({ headers }: HttpRequest, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}

/** Throws a USAGE error for options that can't be. `tokenKey` signs the access tokens. */
export function createSignIn(options: SignInOptions, clock: Clock, tokenKey: string | Uint8Array | undefined): SignIn {
  const { clientId, clientSecret, accessTokenLifeMs: lifeMs = usualLifeMs, refreshTokens } = options;
  if (clientId === '' || clientSecret === '')
    throw usageError('expected a client id and a client secret for the sign-in, got an empty one');
  if (!(lifeMs > 0 && Number.isFinite(lifeMs))) {
    throw usageError(`expected access tokens to live longer than 0 ms, got ${lifeMs}`);
  }
  const tokens = new IssuedAccessTokens(lifeMs, tokenKey);
  const delay = new GuessDelay(clock);

  async function answer(request: HttpRequest, now: number): Promise<Outcome> {
    if (request.method !== 'POST') {
      const { status, body } = requestRefusal(405, 'The sign-in takes POST.', request.method);
      return { status, body, headers: { Allow: 'POST' } };
    }
    // A client that breaks off gets no answer, and it is no fault of the service.
    const bytes = await request.body().catch(() => undefined);
    if (bytes === undefined) return failure(400, 'invalid_request', 'The body is too long');
    const body = readSignInBody(bytes, headerOf(request, 'content-type'));
    if ('wrong' in body) return failure(400, 'invalid_request', body.wrong);

    const missing = ['grant_type', 'client_id', 'client_secret'].find((name) => !body.has(name));
    if (missing !== undefined) return failure(400, 'invalid_request', `The request has no ${missing}`);
    if (!(await delay.wait(request.signal))) {
      const tooMany = failure(
        429,
        'temporarily_unavailable',
        'Too many attempts to sign in have failed; try again later',
      );
      return { ...tooMany, headers: { ...tooMany.headers, 'Retry-After': String(retryAfterSeconds) } };
    }
    // Both are compared in any case, so that the time doesn't show which one was wrong.
    const known = [
      isSame(body.get('client_id') ?? '', clientId),
      isSame(body.get('client_secret') ?? '', clientSecret),
    ];
    if (known.includes(false)) {
      delay.failed();
      return failure(401, 'invalid_client', 'Client authentication failed');
    }
    if (body.get('grant_type') !== 'refresh_token') {
      return failure(400, 'unsupported_grant_type', 'The grant type must be refresh_token');
    }
    const refreshToken = body.get('refresh_token');
    if (refreshToken === undefined) return failure(400, 'invalid_request', 'The request has no refresh_token');
    if (refreshTokens?.map((one) => isSame(one, refreshToken)).includes(true) === false) {
      delay.failed();
      return failure(400, 'invalid_grant', 'The refresh token is invalid, expired or revoked');
    }
    delay.succeeded();
    return outcome(200, {
      access_token: tokens.issue(now, refreshToken),
      token_type: 'bearer',
      expires_in: Math.floor(lifeMs / 1000),
      refresh_token: refreshToken,
    });
  }

  function refusal(request: HttpRequest, now: number): Refusal | undefined {
    const token = headerOf(request, tokenHeader);
    const state = tokens.check(token, now);
    if (state === 'valid') return undefined;
    if (state === 'expired') return denied(accessTokenExpired);
    return denied(
      token === ''
        ? 'Access token is missing in the request header.'
        : 'The access token you provided is revoked, malformed or invalid.',
    );
  }

  return { answer, refusal, accountOf: (request) => tokens.accountOf(headerOf(request, tokenHeader)) };
}
