import type { Clock } from '../core/clock.js';
import { LedgerlakeError, systemCode } from '../core/errors.js';
import { isoInstant } from '../core/numeric/instant.js';
import { withinLimit } from '../core/time-limit.js';
import type { Secret } from '../engine/auth/secret.js';
import { createTransport } from '../engine/http/transport.js';
import { Refusal, retryAfterMs } from '../engine/retry/api-refusal.js';
import { RetryPolicy } from '../engine/retry/retry-policy.js';
import type { Failure } from './results.js';

/** The end of a command, as it is posted to the address of the setting `notify`. */
export interface Notification {
  readonly command: string;
  readonly exitCode: number;
  /** The objects of `--json`: one for each account; none where the command failed before its first one. */
  readonly runs: readonly object[];
  /** Left out where the runs have their own. */
  readonly error?: Failure | undefined;
}

/** Placeholders in the address. */
const placeholders = { exitCode: '{exit_code}', command: '{command}' } as const;

/** Of a connection, and of an answer. */
const timeouts = { connectTimeoutMs: 5000, headersTimeoutMs: 10_000, bodyTimeoutMs: 10_000, answerTimeoutMs: 10_000 };

/**
 * Posts a notification as JSON, and again where a retry can help, for `limitMs` milliseconds at most. Redirects aren't followed.
 *
 * @throws LedgerlakeError whose message has nothing of the address, which is a secret
 */
export async function postNotification(
  address: Secret,
  { command, exitCode, runs, error }: Notification,
  { clock, limitMs }: { readonly clock: Clock; readonly limitMs: number },
): Promise<void> {
  const { origin, pathname, search, username, password } = new URL(
    address.reveal().replaceAll(placeholders.exitCode, String(exitCode)).replaceAll(placeholders.command, command),
  );
  const login = [username, password].map(decodeURIComponent).join(':');
  const authorization = login === ':' ? {} : { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
  const status = exitCode === 0 ? 'done' : 'failed';
  const body = { command, status, exit_code: exitCode, at: isoInstant(clock.now()), ...(error && { error }), runs };
  const request = {
    origin,
    path: pathname + search,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...authorization },
  };
  const transport = createTransport({ ...timeouts, clock });
  // The last attempt has time for its answer.
  const policy = new RetryPolicy({ clock, random: Math.random, withinMs: limitMs / 2 });
  const { signal } = new AbortController();
  try {
    await withinLimit(limitMs, { clock, signal }, (signal) =>
      policy.run({
        operation: 'notify',
        signal,
        isGuess: false,
        failed: () => undefined,
        send: async () => {
          const { status, headers } = await transport.send({ ...request, signal });
          if (status < 200 || status > 299) throw refusal(status, headers, clock.now());
        },
      }),
    );
  } catch (failure) {
    throw withoutAddress(failure);
  } finally {
    // Not awaited: a request that hangs is left behind.
    void transport.close().catch(() => undefined);
  }
}

function refusal(status: number, headers: ReadonlyMap<string, string>, now: number): Refusal {
  const refusalCause = status === 429 ? 'throttled' : status === 408 || status >= 500 ? 'fault' : 'mistake';
  const hint = status < 400 ? ', and redirects are not followed' : '';
  return new Refusal(
    'UPSTREAM_STATUS',
    { refusalCause, message: `expected a status from 200 to 299, got ${status}${hint}` },
    { status, retryAfterMs: retryAfterMs(headers.get('retry-after'), now) },
  );
}

/** A failure without the host, which the messages of connections name. */
function withoutAddress(failure: unknown): unknown {
  if (!(failure instanceof LedgerlakeError)) return failure;
  const { code, message } = failure;
  if (code === 'UPSTREAM_STATUS' || code === 'STOPPED') return new LedgerlakeError(code, message);
  let reason: string | undefined;
  for (let cause: unknown = failure; cause instanceof Error; { cause } = cause) reason = systemCode(cause) ?? reason;
  return new LedgerlakeError(code, `expected an answer, got none (${reason ?? code})`);
}
