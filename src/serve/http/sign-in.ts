import { createHash, timingSafeEqual } from 'node:crypto';
import { usageError } from '../../core/errors.js';
import type { Clock } from '../../core/clock.js';
import { IssuedAccessTokens } from '../operation/signed-tokens.js';
import type { HttpRequest } from '../../core/http-server/answer.js';
import { type Outcome, accessTokenExpired, denied, refused, requestRefusal } from '../operation/outcome.js';
import type { HttpRefusal } from '../../core/http-server/refusal.js';

/** Delay after the first failure, milliseconds; it doubles with each further one. */
const firstDelayMs = 250;
const longestDelayMs = 4000;

/** Milliseconds after the last failure at which the count of failures returns to 0. */
const failureMemoryMs = 60_000;

/** Largest number of attempts that wait at once. */
const mostWaiting = 8;

/** `Retry-After` in seconds of an attempt beyond `mostWaiting`. */
const retryAfterSeconds = longestDelayMs / 1000;

/**
 * Slows down guessing: after a failed sign-in every attempt, right or wrong, waits before it is checked, and only a few
 * may wait. So at most eight attempts are checked in four seconds, over any number of connections.
 */
class GuessDelay {
  readonly #clock: Clock;
  #failures = 0;
  #lastAt = -Infinity;
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits, and resolves to whether the attempt may be checked; false once the signal aborts. */
  async wait(signal: AbortSignal): Promise<boolean> {
    if (this.#clock.now() - this.#lastAt > failureMemoryMs) this.#failures = 0;
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

/** The members of a sign-in request, or the reason of a failure to read it, without values, which may be secret. */
type SignInBody = ReadonlyMap<string, string> | { readonly fault: string };

function formMembers(text: string): SignInBody {
  const members = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (members.has(name)) return { fault: 'The request repeats a parameter' };
    members.set(name, value);
  }
  return members;
}

function jsonMembers(text: string): SignInBody {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: 'The body is not JSON' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { fault: 'The body is not a JSON object' };
  }
  const members = new Map<string, string>();
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'string') return { fault: 'The body holds a parameter that is not a string' };
    members.set(name, member);
  }
  return members;
}

/**
 * Reads the body of a sign-in request: JSON where its content type or first byte says so, else a form (RFC 6749,
 * appendix B). It never throws. A parameter with an empty value counts as left out (section 3.2).
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
  /** How long an access token is valid, milliseconds; default: one hour. */
  readonly accessTokenLifeMs?: number | undefined;
  /** The accepted refresh tokens; default: any. */
  readonly refreshTokens?: readonly string[] | undefined;
}

export const signInPath = '/auth/o2/token';
const tokenHeader = 'x-amz-access-token';

/** Default life of an access token. */
const defaultLifeMs = 3_600_000;

/** Compares two texts in constant time. */
function isSame(a: string, b: string): boolean {
  const [first, second] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return first !== undefined && second !== undefined && timingSafeEqual(first, second);
}

function failure(status: number, error: string, description: string): Outcome {
  return outcome(status, { error, error_description: description });
}

function tooManyAttempts(): Outcome {
  const tooMany = failure(429, 'temporarily_unavailable', 'Too many attempts to sign in have failed; try again later');
  return { ...tooMany, headers: { ...tooMany.headers, 'Retry-After': String(retryAfterSeconds) } };
}

function outcome(status: number, body: object): Outcome {
  // No cache may store a response with a token (RFC 6749, section 5.1).
  return { status, body: JSON.stringify(body), headers: { 'Cache-Control': 'no-store', Pragma: 'no-cache' } };
}

function headerText({ headers }: HttpRequest, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}

/** The members of a sign-in request, at least those that every grant requires. */
async function membersOf(request: HttpRequest): Promise<SignInBody> {
  // A client that disconnects gets no answer; that is no error of the server.
  const bytes = await request.body().catch(() => undefined);
  if (bytes === undefined) return { fault: 'The body is too long' };
  const members = readSignInBody(bytes, headerText(request, 'content-type'));
  if ('fault' in members) return members;
  const missing = ['grant_type', 'client_id', 'client_secret'].find((name) => !members.has(name));
  return missing === undefined ? members : { fault: `The request has no ${missing}` };
}

/** The sign-in of a server: issues access tokens and checks those of requests. */
export class AuthorizationServer {
  readonly #options: SignInOptions;
  readonly #lifeMs: number;
  readonly #tokens: IssuedAccessTokens;
  readonly #delay: GuessDelay;

  /**
   * @param tokenKey signs the access tokens
   *
   * @throws LedgerlakeError USAGE for options that are invalid
   */
  constructor(options: SignInOptions, clock: Clock, tokenKey: string | Uint8Array | undefined) {
    const { clientId, clientSecret, accessTokenLifeMs: lifeMs = defaultLifeMs } = options;
    if (clientId === '' || clientSecret === '')
      throw usageError('expected a client id and a client secret for the sign-in, got an empty one');
    if (!(lifeMs > 0 && Number.isFinite(lifeMs))) {
      throw usageError(`expected access tokens to live longer than 0 ms, got ${lifeMs}`);
    }
    this.#options = options;
    this.#lifeMs = lifeMs;
    this.#tokens = new IssuedAccessTokens(lifeMs, tokenKey);
    this.#delay = new GuessDelay(clock);
  }

  /** Answers a sign-in request (RFC 6749, sections 5 and 6). `now`: milliseconds since 1970. */
  async answer(request: HttpRequest, now: number): Promise<Outcome> {
    if (request.method !== 'POST')
      return refused(requestRefusal(405, 'The sign-in takes POST.', request.method), 'POST');
    const members = await membersOf(request);
    if ('fault' in members) return failure(400, 'invalid_request', members.fault);
    if (!(await this.#delay.wait(request.signal))) return tooManyAttempts();
    if (!this.#isClient(members)) return this.#failedGuess(401, 'invalid_client', 'Client authentication failed');
    if (members.get('grant_type') !== 'refresh_token')
      return failure(400, 'unsupported_grant_type', 'The grant type must be refresh_token');
    const refreshToken = members.get('refresh_token');
    if (refreshToken === undefined) return failure(400, 'invalid_request', 'The request has no refresh_token');
    if (!this.#isAccepted(refreshToken))
      return this.#failedGuess(400, 'invalid_grant', 'The refresh token is invalid, expired or revoked');
    this.#delay.succeeded();
    return outcome(200, {
      access_token: this.#tokens.issue(now, refreshToken),
      token_type: 'bearer',
      expires_in: Math.floor(this.#lifeMs / 1000),
      refresh_token: refreshToken,
    });
  }

  /** The refusal (403) of a request without a valid access token; undefined: it has one. */
  refusal(request: HttpRequest, now: number): HttpRefusal | undefined {
    const token = headerText(request, tokenHeader);
    const state = this.#tokens.check(token, now);
    if (state === 'valid') return undefined;
    if (state === 'expired') return denied(accessTokenExpired);
    return denied(
      token === ''
        ? 'Access token is missing in the request header.'
        : 'The access token you provided is revoked, malformed or invalid.',
    );
  }

  /** The account of an authorised request. */
  accountOf(request: HttpRequest): string {
    return this.#tokens.accountOf(headerText(request, tokenHeader));
  }

  /** Compares both members always, so that the time doesn't reveal which one is wrong. */
  #isClient(members: ReadonlyMap<string, string>): boolean {
    const { clientId, clientSecret } = this.#options;
    const isId = isSame(members.get('client_id') ?? '', clientId);
    const isSecret = isSame(members.get('client_secret') ?? '', clientSecret);
    return isId && isSecret;
  }

  #isAccepted(refreshToken: string): boolean {
    const { refreshTokens } = this.#options;
    // Compares with every token, so that the time doesn't reveal the matching one.
    return refreshTokens?.map((accepted) => isSame(accepted, refreshToken)).includes(true) !== false;
  }

  #failedGuess(status: number, error: string, description: string): Outcome {
    this.#delay.failed();
    return failure(status, error, description);
  }
}
