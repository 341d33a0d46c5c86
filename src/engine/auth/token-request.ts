import { z } from 'zod';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import type { HttpAnswer, Transport } from '../http/transport.js';
import type { Secret } from './secret.js';

/** How a client shows who it is: in JSON beside the grant (Login with Amazon), in a form, or in the header of Basic authorization. */
export const clientAuthentications = ['json', 'form', 'basic'] as const;
export type ClientAuthentication = (typeof clientAuthentications)[number];

/** What an application signs in with (OAuth 2.0, RFC 6749): with a refresh token, or for itself. */
export interface SignIn {
  /** For messages. */
  readonly account: string;
  /** Address to which the secrets are posted: https, or loopback. */
  readonly tokenEndpoint: string;
  readonly clientId: Secret;
  readonly clientSecret: Secret;
  /** Left out: the client's own credentials are the grant. */
  readonly refreshToken?: Secret | undefined;
  /** Left out: what the endpoint gives without being asked for one. */
  readonly scope?: string | undefined;
  /** Left out: `json`. */
  readonly authentication?: ClientAuthentication | undefined;
}

export interface IssuedToken {
  readonly token: string;
  /** Milliseconds from the request on. */
  readonly lifeMs: number;
}

export interface RefusedToken {
  readonly error: LedgerlakeError;
  /** Milliseconds that the endpoint asks to wait (`Retry-After`); 0 where it says nothing. */
  readonly waitMs: number;
}

/** No wait that an endpoint asks for is longer. */
const longestWaitMs = 60_000;

/** Bytes of the longest answer: a token has a few hundred. */
const longestAnswer = 1024 * 1024;

/** Bytes of the longest token: servers take no longer headers. */
const longestToken = 8 * 1024;

/** The part of an answer that counts. The token goes into a header, so it is visible ASCII. */
const answerShape = z.object({
  access_token: z
    .string()
    .max(longestToken)
    .regex(/^[\x21-\x7e]+$/),
  expires_in: z.number().positive(),
});

/** Its text is another's; only these codes (RFC 6749, section 5.2) are ever shown. */
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

/** What to check, by the code of the refusal. */
const checks: Readonly<Record<string, string>> = {
  invalid_client: 'check the client id and the client secret, which may have been rotated',
  invalid_grant: 'check the refresh token: it may be revoked, expired, or issued to another client id',
  unauthorized_client: 'check that the client id belongs to the application that the seller authorised',
};
const checkAll = 'check client id, client secret and refresh token, and the token endpoint';

/**
 * Asks the token endpoint once for an access token. What it answers never becomes part of an error: it may quote what
 * it was sent. Redirects are not followed: they would carry the secrets elsewhere.
 *
 * @throws the signal's reason, and nothing else
 */
export async function requestToken(
  signIn: SignIn,
  transport: Pick<Transport, 'post'>,
  signal: AbortSignal,
): Promise<IssuedToken | RefusedToken> {
  const { account, tokenEndpoint } = signIn;
  const { origin, host, pathname } = new URL(tokenEndpoint);
  const expected = `expected an access token for the account ${account} from ${host}`;
  let answer: HttpAnswer;
  try {
    answer = await transport.post({
      origin,
      path: pathname,
      ...tokenMessage(signIn),
      addressOf: 'the token endpoint',
      mostBytes: longestAnswer,
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    return unreachable(`${expected}, got no answer: ${messageOf(error)}`, { cause: error });
  }
  const { status } = answer;
  const details = requestIdOf(answer);
  const body = parsed(answer.body);
  if (status === 200) {
    const issued = answerShape.safeParse(body);
    if (issued.success) return { token: issued.data.access_token, lifeMs: issued.data.expires_in * 1000 };
    const todo = 'check the token endpoint, and whether a proxy answers';
    return unreachable(`${expected}, got an answer without \`access_token\` and \`expires_in\`: ${todo}`, { status });
  }
  if (status === 408 || status === 429 || status >= 500) {
    const what = status === 429 ? 'it throttles requests' : 'it has a fault';
    const waitMs = retryAfterMs(answer.headers.get('retry-after'));
    return unreachable(`${expected}, got status ${status}: ${what}; try again later`, { status, details }, waitMs);
  }
  const refusal = errorShape.safeParse(body);
  const code = refusal.success ? refusal.data.error : undefined;
  const codeText = code === undefined ? '' : ` (${code})`;
  const todo = status < 400 ? 'check the token endpoint: redirects are not followed' : (checks[code ?? ''] ?? checkAll);
  const error = new LedgerlakeError('SIGN_IN_REFUSED', `${expected}, got status ${status}${codeText}: ${todo}`, {
    status,
    details,
  });
  return { error, waitMs: 0 };
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

function unreachable(
  message: string,
  about: { cause?: unknown; status?: number; details?: string },
  waitMs = 0,
): RefusedToken {
  return { error: new LedgerlakeError('SIGN_IN_UNREACHABLE', message, about), waitMs };
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    // Not JSON, which is neither a token nor an error's code: the message then says so.
    return undefined;
  }
}

/** What the endpoint's own people ask for, if it is what it should be. */
function requestIdOf({ headers }: HttpAnswer): string {
  const id = headers.get('x-amzn-requestid') ?? '';
  return `request id: ${/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) ? id : 'none'}`;
}

function retryAfterMs(text: string | undefined): number {
  return /^\d{1,9}$/.test(text ?? '') ? Math.min(Number(text) * 1000, longestWaitMs) : 0;
}
