import { once } from 'node:events';
import type { Clock } from '../../core/clock.js';
import type { Transport } from '../http/transport.js';
import type { SignIn } from './token-request.js';

/** The header that carries an access token. */
export const accessTokenHeader = 'x-amz-access-token';

/** The access tokens of one account. */
export interface AccessTokens {
  /**
   * A token that is valid for a while yet; it is requested where none is cached. Callers at the same time share one request,
   * and one that aborts leaves it to the others.
   *
   * @throws LedgerlakeError SIGN_IN_REFUSED, SIGN_IN_UNREACHABLE once trying again hasn't helped, or the signal's reason
   */
  current(signal: AbortSignal): Promise<string>;
  /** Notes that the service refused a token: it is dropped, unless another one is cached by now. */
  refused(token: string): void;
}

export interface AccessTokensOptions extends SignIn {
  readonly transport: Pick<Transport, 'post'>;
  readonly clock: Clock;
  /** From 0 to 1, for the waits between tries. */
  readonly random?: () => number;
}

/** A token is not handed out any more so long before it expires, or a tenth of its life, whichever is less. */
const spareMs = 60_000;
const spareShare = 0.1;

/** So often the token endpoint is tried, with these waits between: half a second, one, two, four. */
const tries = 5;
const firstWaitMs = 500;

/** Signs one account in when it is first needed, and again whenever its access token is about to expire. */
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
  return {
    current: async (signal) => {
      signal.throwIfAborted();
      if (cached !== undefined && options.clock.now() < cached.renewAt) return cached.token;
      if (refresh === undefined || refresh.stopped) refresh = begin();
      return refresh.wait(signal);
    },
    refused: (token) => {
      if (cached?.token === token) cached = undefined;
    },
  };
}

interface CachedToken {
  readonly token: string;
  readonly renewAt: number;
}

/** Asks until there is a token, a refusal, or no sense in asking on. */
async function issue(
  { transport, clock, random = Math.random, ...signIn }: AccessTokensOptions,
  signal: AbortSignal,
): Promise<CachedToken> {
  // Only now: who need not sign in needs no schema of the answer either.
  const { requestToken } = await import('./token-request.js');
  for (let number = 1; ; number++) {
    // The life of a token counts from before the request: it began at some moment in between.
    const asked = clock.now();
    const answer = await requestToken(signIn, transport, signal);
    if (!('error' in answer)) {
      const { token, lifeMs } = answer;
      return { token, renewAt: asked + lifeMs - Math.min(spareMs, lifeMs * spareShare) };
    }
    if (!answer.error.retryable || number === tries) throw answer.error;
    const wait = firstWaitMs * 2 ** (number - 1) * (0.5 + random() / 2);
    await clock.sleep(Math.max(wait, answer.waitMs), signal);
  }
}

/**
 * A promise that several callers wait for. A caller that gives up leaves the others waiting; the work is stopped
 * when the last one has given up.
 */
class SharedPromise<T> {
  readonly #stop = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(task: (signal: AbortSignal) => Promise<T>) {
    this.#result = task(this.#stop.signal);
    // Each waiter gets the failure; without any left nobody needs it.
    this.#result.catch(() => undefined);
  }

  /** Whether it was stopped because nobody waited any more: who comes now starts anew. */
  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The work's result or failure, or the signal's reason when it aborts first. */
  async wait(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    this.#waiting++;
    const over = new AbortController();
    const aborted = once(signal, 'abort', over).then(() => Promise.reject(signal.reason as Error));
    // Nobody waits for it any more once the race is over.
    aborted.catch(() => undefined);
    try {
      return await Promise.race([this.#result, aborted]);
    } finally {
      over.abort();
      if (--this.#waiting === 0) this.#stop.abort(signal.reason);
    }
  }
}
