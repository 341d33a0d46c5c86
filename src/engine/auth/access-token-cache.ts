import { once } from 'node:events';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Transport } from '../http/transport.js';
import { ReadFailure } from '../retry/read-failure.js';
import type { FailedAttempt, RetryPolicy } from '../retry/retry-policy.js';
import type { SignIn } from './token-request.js';

/** The header that carries an access token. */
export const accessTokenHeader = 'x-amz-access-token';

/** The access tokens of one account. */
export interface AccessTokens {
  /**
   * A valid token: cached, or requested. Concurrent callers share one request, which continues while one of them waits.
   *
   * @throws LedgerlakeError SIGN_IN_REFUSED, SIGN_IN_UNREACHABLE after the last retry, or the signal's reason
   */
  current(signal: AbortSignal): Promise<string>;
  /** Whether a token is still the one that `current` would return at once. */
  isCurrent(token: string): boolean;
  /** Drops a token that the service refused, unless another one is cached by now. */
  refused(token: string): void;
}

interface AccessTokensOptions extends SignIn {
  readonly transport: Pick<Transport, 'send'>;
  readonly clock: Clock;
  /** Left out: each token is requested once. */
  readonly policy?: RetryPolicy | undefined;
  /** Called before each pause between two attempts. */
  readonly onWait?: ((operation: string, failed: FailedAttempt) => void) | undefined;
}

/** A token is renewed this long before it expires, or a tenth of its life, whichever is less. */
const spareMs = 60_000;
const spareShare = 0.1;

/** For messages about long waits. */
const operation = 'sign-in';

/** Signs one account in on first use, and renews its access token before it expires. */
export function createAccessTokens(options: AccessTokensOptions): AccessTokens {
  let cached: CachedToken | undefined;
  let refresh: SharedPromise<string> | undefined;
  const begin = (): SharedPromise<string> => {
    const begun = new SharedPromise(async (signal) => {
      try {
        cached = await issue(options, signal);
        return cached.token;
      } finally {
        if (refresh === begun) refresh = undefined;
      }
    });
    return begun;
  };
  const valid = (): string | undefined =>
    cached !== undefined && options.clock.now() < cached.renewAt ? cached.token : undefined;
  return {
    current: async (signal) => {
      signal.throwIfAborted();
      const token = valid();
      if (token !== undefined) return token;
      if (refresh === undefined || refresh.stopped) refresh = begin();
      return refresh.wait(signal);
    },
    isCurrent: (token) => token === valid(),
    refused: (token) => {
      if (cached?.token === token) cached = undefined;
    },
  };
}

interface CachedToken {
  readonly token: string;
  readonly renewAt: number;
}

/** Requests a token, with the retries of the policy. */
async function issue(
  { transport, clock, policy, onWait, ...signIn }: AccessTokensOptions,
  signal: AbortSignal,
): Promise<CachedToken> {
  // Imported here: an account that doesn't sign in needs no schema of the answer.
  const { requestToken } = await import('./token-request.js');
  const send = async (): Promise<CachedToken> => {
    // A token's life is counted from before the request.
    const asked = clock.now();
    const { token, lifeMs } = await requestToken(signIn, { transport, clock, signal });
    return { token, renewAt: asked + lifeMs - Math.min(spareMs, lifeMs * spareShare) };
  };
  if (policy === undefined) return send();
  try {
    return await policy.run({
      operation,
      signal,
      isGuess: false,
      send,
      failed: (failed) => onWait?.(operation, failed),
    });
  } catch (error) {
    if (!(error instanceof ReadFailure)) throw error;
    // Without a token no slice can be read: it isn't the failure of one of them.
    const { code, message, status, details, cause } = error;
    throw new LedgerlakeError(code, message, {
      cause,
      ...(status !== undefined && { status }),
      ...(details !== undefined && { details }),
    });
  }
}

/**
 * A promise that several callers await. The task is aborted when the last caller has given up.
 */
class SharedPromise<T> {
  readonly #stop = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(task: (signal: AbortSignal) => Promise<T>) {
    this.#result = task(this.#stop.signal);
    // Each caller gets the failure; without callers it isn't an unhandled rejection.
    this.#result.catch(() => undefined);
  }

  /** Whether the task was aborted: a new caller starts another one. */
  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The task's result or failure, or the signal's reason when it aborts first. */
  async wait(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    this.#waiting++;
    const over = new AbortController();
    const aborted = once(signal, 'abort', over).then(() => Promise.reject(signal.reason as Error));
    // It may reject after the race.
    aborted.catch(() => undefined);
    try {
      return await Promise.race([this.#result, aborted]);
    } finally {
      over.abort();
      if (--this.#waiting === 0) this.#stop.abort(signal.reason);
    }
  }
}
