import type { Clock } from '../../core/clock.js';
import type { OperationName } from '../../sources/finances/finances-apis.js';
import type { HttpAnswer } from '../../core/http-server/answer.js';
import type { Outcome } from '../operation/outcome.js';
import type { CheckedRequest } from '../operation/served-operation.js';
import type { Backend } from '../served-apis.js';
import type { BackendItem, BackendPage } from '../operation/backend-page.js';
import { usageError } from '../../core/errors.js';
import { createHash } from 'node:crypto';

/** A request as seen by `when` of a fault's settings, which selects the requests to hit. */
export interface FaultRequest {
  readonly operation: OperationName | 'SignIn' | 'Download';
  /** Number in the order of arrival, over all operations, the sign-in and downloads, from 1. */
  readonly number: number;
  /** Whether it has the token of an earlier page. */
  readonly hasToken: boolean;
  /** The decoded query parameters. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A page as it is sent, with the continuation of its chain. */
export interface SentPage {
  readonly items: readonly BackendItem[];
  /** Where the next page starts: a cursor that needs a token, or a token that was already issued. */
  readonly next: { readonly cursor: string | undefined } | { readonly token: string } | undefined;
  /** Token of the last page: null, or, by default, no member. */
  readonly lastToken?: null;
  /** Whether the body has the list of results; default: true. */
  readonly hasList?: boolean;
}

/** The faults of one request, step by step; each step is called at most once. */
export interface RequestFaults {
  /** An outcome that replaces the answer before the quota counts the request. */
  throttled(): Outcome | undefined;
  /** Rate of the operation's quota, requests a second; undefined: the configured one. */
  rate(): number | undefined;
  /** An outcome that replaces the answer after the quota counted the request. */
  replacement(): Outcome | undefined;
  /** Whether a token is accepted without the parameters that must accompany it. */
  isTokenSufficient(): boolean;
  /** @throws Refusal (400, 500) for a checked request that the specification allows */
  check(request: CheckedRequest): void;
  /**
   * The page as it is sent.
   *
   * @throws Refusal (400) for one that the specification allows
   */
  page(request: CheckedRequest, page: BackendPage): SentPage;
  /** @throws Refusal (400) for a body that the specification allows */
  checkBody(body: string): void;
  /** The answer as it is sent. */
  finish(answer: HttpAnswer): HttpAnswer;
}

/** The identity of a request that is repeated. */
export interface RequestIdentity {
  readonly target: string;
  readonly accessToken: string | undefined;
}

/** The backend's page, without faults. */
export function faultlessPage({ items, next }: BackendPage): SentPage {
  return { items, next: next === undefined ? undefined : { cursor: next } };
}

/** The faults of a request that meets none. */
export const noFaults: RequestFaults = {
  throttled: () => undefined,
  rate: () => undefined,
  replacement: () => undefined,
  isTokenSufficient: () => false,
  check: () => undefined,
  page: (_request, page) => faultlessPage(page),
  checkBody: () => undefined,
  finish: (answer) => answer,
};

/** A server's dependencies with faults applied. */
export interface ServerFaults {
  readonly clock: Clock;
  readonly backend: Backend;
  /** Lists in every body of events that the model doesn't have. */
  readonly lists: readonly string[];
  /** The faults of one request. */
  request(request: FaultRequest, identity: RequestIdentity): RequestFaults;
}

/** A server's dependencies without faults. */
export interface ServerDependencies {
  readonly clock: Clock;
  readonly backend: Backend;
  /** Seed of all random faults. */
  readonly seed: number;
  /** Receives the kind of each fault that hits. */
  readonly hit: (kind: string) => void;
  /** Whether the server has a sign-in: without one no access token can expire at random. */
  readonly signIn: boolean;
}

/** Adds faults to a server. The emulator has one for each known fault of the live service. */
export type FaultInjection = (server: ServerDependencies) => ServerFaults;

/** The fault injection of a server without faults. */
export function withoutFaults({ clock, backend }: ServerDependencies): ServerFaults {
  return { clock, backend, lists: [], request: () => noFaults };
}

/** A pseudo-random number from 0 (included) to 1 (excluded) that depends only on the seed and the key. */
export function draw(seed: number, ...key: readonly (string | number)[]): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ...key]))
    .digest();
  return digest.readUIntBE(0, 6) / 2 ** 48;
}

/** Latency of answers, milliseconds: constant, or drawn evenly from a range. */
export type Latency = number | { readonly least: number; readonly most: number };

/**
 * Waits for the latency of a request, drawn by its number; it returns early when the signal aborts.
 *
 * @throws LedgerlakeError USAGE for a latency that is negative, infinite or in the wrong order
 */
export function createLatency(
  latency: Latency,
  seed: number,
  clock: Clock,
): (number: number, signal: AbortSignal) => Promise<void> {
  const { least, most } = typeof latency === 'number' ? { least: latency, most: latency } : latency;
  if (!(least >= 0 && most >= least && Number.isFinite(most))) {
    throw usageError(`expected a latency in milliseconds from 0, the shortest first, got ${least} to ${most}`);
  }
  return async (number, signal) => {
    const ms = least + (most > least ? draw(seed, 'latency', number) * (most - least) : 0);
    if (ms === 0 || signal.aborted) return;
    await clock.sleep(ms, signal).catch((error: unknown) => {
      // The answer is then sent at once, so that closing the server doesn't wait for it.
      if (!signal.aborted) throw error;
    });
  };
}
