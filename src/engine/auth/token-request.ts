import { z } from 'zod';
import type { Clock } from '../../core/clock.js';
import { messageOf } from '../../core/errors.js';
import type { HttpResponse, Transport } from '../http/transport.js';
import { isHtml, Refusal, retryAfterMs } from '../retry/api-refusal.js';
import type { Cause } from '../retry/causes.js';
import { causeOf } from '../retry/retry-policy.js';
import type { Secret } from './secret.js';

/** How a client authenticates: in the JSON of the grant (Login with Amazon), in a form, or with Basic authorization. */
export const clientAuthentications = ['json', 'form', 'basic'] as const;
type ClientAuthentication = (typeof clientAuthentications)[number];

/** The credentials of an application (OAuth 2.0, RFC 6749): a refresh token, or those of the client alone. */
export interface SignIn {
  /** For messages. */
  readonly account: string;
  /** The secrets are posted there: https, or loopback. */
  readonly tokenEndpoint: string;
  readonly clientId: Secret;
  readonly clientSecret: Secret;
  /** Left out: the grant is `client_credentials`. */
  readonly refreshToken?: Secret | undefined;
  /** Left out: the endpoint's default. */
  readonly scope?: string | undefined;
  /** Left out: `json`. */
  readonly authentication?: ClientAuthentication | undefined;
}

export interface TokenConnection {
  readonly transport: Pick<Transport, 'send'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface IssuedToken {
  readonly token: string;
  /** Milliseconds from the request on. */
  readonly lifeMs: number;
}

/** Bytes of the longest answer: a token has a few hundred. */
const longestAnswer = 1024 * 1024;

/** Bytes of the longest token: servers accept no longer headers. */
const longestToken = 8 * 1024;

/** The life of a token whose answer doesn't state it. If it is shorter, the API refuses the token, and another one is requested. */
const usualLifeSeconds = 3600;

/** The fields of an answer. The token is sent in a header, so it must be visible ASCII. */
const answerShape = z.object({
  access_token: z
    .string()
    .max(longestToken)
    .regex(/^[\x21-\x7e]+$/),
  // OAuth only recommends it (RFC 6749, section 5.1). Some endpoints send it as text.
  expires_in: z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
    .pipe(z.number().positive())
    .nullish()
    .transform((seconds) => seconds ?? usualLifeSeconds),
});

/** Only these codes (RFC 6749, section 5.2) are shown, never the endpoint's text. */
const errorShape = z.object({
  error: z.enum([
    'invalid_request',
    'invalid_client',
    'invalid_grant',
    'unauthorized_client',
    'unsupported_grant_type',
    'invalid_scope',
    'access_denied',
    'server_error',
    'temporarily_unavailable',
  ]),
});

/** What to check, by error code. */
const checks: Readonly<Record<string, string>> = {
  invalid_client: 'check the client id and the client secret, which may have been rotated',
  invalid_grant: 'check the refresh token: it may be revoked, expired, or issued to another client id',
  unauthorized_client: 'check that the client id belongs to the application that the seller authorised',
};
const checkAll = 'check client id, client secret and refresh token, and the token endpoint';

/**
 * Requests an access token once. The answer never becomes part of an error, as it may quote the secrets. Redirects are not
 * followed: they would send the secrets elsewhere.
 *
 * @throws Refusal SIGN_IN_REFUSED or SIGN_IN_UNREACHABLE, or the signal's reason
 */
export async function requestToken(
  signIn: SignIn,
  { transport, clock, signal }: TokenConnection,
): Promise<IssuedToken> {
  const { account, tokenEndpoint } = signIn;
  const { origin, host, pathname } = new URL(tokenEndpoint);
  const expected = `expected an access token for the account ${account} from ${host}`;
  let answer: HttpResponse;
  try {
    answer = await transport.send({
      origin,
      path: pathname,
      ...tokenMessage(signIn),
      addressOf: 'the token endpoint',
      mostBytes: longestAnswer,
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw unreachable(causeOf(error), `${expected}, got no answer: ${messageOf(error)}`, { cause: error });
  }
  const { status } = answer;
  const details = requestIdOf(answer);
  const body = parsed(answer.body);
  if (status === 200) {
    const issued = answerShape.safeParse(body);
    if (issued.success) return { token: issued.data.access_token, lifeMs: issued.data.expires_in * 1000 };
    const todo = 'check the token endpoint, and whether a proxy answers';
    const found = 'an answer without a valid `access_token`, or with an invalid `expires_in`';
    throw unreachable('not-the-api', `${expected}, got ${found}: ${todo}`, { status });
  }
  if (status === 408 || status === 429 || status >= 500) {
    const [cause, what] =
      status === 429 ? (['throttled', 'it throttles requests'] as const) : (['fault', 'it has a fault'] as const);
    throw unreachable(cause, `${expected}, got status ${status}: ${what}; try again later`, {
      status,
      details,
      isWebPage: isHtml(answer.body),
      retryAfterMs: retryAfterMs(answer.headers.get('retry-after'), clock.now()),
    });
  }
  const refusal = errorShape.safeParse(body);
  const code = refusal.success ? refusal.data.error : undefined;
  const codeText = code === undefined ? '' : ` (${code})`;
  const todo = status < 400 ? 'check the token endpoint: redirects are not followed' : (checks[code ?? ''] ?? checkAll);
  const message = `${expected}, got status ${status}${codeText}: ${todo}`;
  throw new Refusal('SIGN_IN_REFUSED', { refusalCause: 'denied', message }, { status, details });
}

/** Headers and body of a token request (RFC 6749, sections 2.3.1, 4.4.2 and 6). */
function tokenMessage({ clientId, clientSecret, refreshToken, scope, authentication = 'json' }: SignIn) {
  const [id, secret] = [clientId.reveal(), clientSecret.reveal()];
  const grant = {
    grant_type: refreshToken === undefined ? 'client_credentials' : 'refresh_token',
    ...(refreshToken && { refresh_token: refreshToken.reveal() }),
    ...(scope !== undefined && { scope }),
  };
  const client = { client_id: id, client_secret: secret };
  const accept = 'application/json';
  if (authentication === 'json') {
    return { headers: { accept, 'content-type': accept }, body: JSON.stringify({ ...grant, ...client }) };
  }
  const isBasic = authentication === 'basic';
  const login = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`;
  return {
    headers: { accept, 'content-type': 'application/x-www-form-urlencoded', ...(isBasic && { authorization }) },
    body: new URLSearchParams(isBasic ? grant : { ...grant, ...client }).toString(),
  };
}

function unreachable(refusalCause: Cause, message: string, about: ConstructorParameters<typeof Refusal>[2]): Refusal {
  return new Refusal('SIGN_IN_UNREACHABLE', { refusalCause, message }, about);
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    // Not JSON: neither a token nor an error code, as the message states.
    return undefined;
  }
}

/** The request id, for the endpoint's support, where it is well-formed. */
function requestIdOf({ headers }: HttpResponse): string {
  const id = headers.get('x-amzn-requestid') ?? '';
  return `request id: ${/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) ? id : 'none'}`;
}
