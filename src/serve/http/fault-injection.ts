import type { Clock } from '../../core/clock.js';
import type { OperationName } from './counts.js';
import type { Answer } from '../../core/http-server/answer.js';
import type { Outcome } from './outcome.js';
import type { PageRequest } from './served-operation.js';
import type { Ledger, LedgerItem, LedgerPage } from './ledger.js';
import { usageError } from '../../core/errors.js';
import { createHash } from 'node:crypto';

/** A request as a test sees it that chooses which ones a fault hits. */
export interface FaultRequest {
  readonly operation: OperationName | 'SignIn';
  /** Over all operations and the sign-in, from 1, in the order of arrival. */
  readonly number: number;
  /** The same within its operation. */
  readonly numberInOperation: number;
  /** Whether it carries the token of an earlier page. */
  readonly hasToken: boolean;
  /** What it asks for, or the default; NaN where that is no number. */
  readonly pageSize: number;
  /** The query as it came, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A page as it is shown, and how its chain goes on. */
interface ShownPage {
  readonly items: readonly LedgerItem[];
  /** Where the next page begins: a cursor for which a token is issued, or a token that was issued before. */
  readonly next: { readonly cursor: string | undefined } | { readonly token: string } | undefined;
  /** The token where nothing comes next; default: no token. */
  readonly lastToken?: null;
  /** Whether the body has a list of results at all; default: true. */
  readonly hasList?: boolean;
}

/** What goes wrong with one request, asked step by step; each step is asked once at most. */
export interface RequestFaults {
  /** Comes instead of the answer before the quota counts the request. */
  throttled(): Outcome | undefined;
  /** The rate at which the operation's quota runs; undefined: the one it is set to. */
  rate(): number | undefined;
  /** Comes instead of the answer once the quota has counted the request. */
  instead(): Outcome | undefined;
  /** Whether a token that comes without the parameters that must come with it is taken. */
  isTokenEnough(): boolean;
  /** Throws a Refusal (400, 500) for a checked request that the specification allows. */
  check(request: PageRequest): void;
  /** The page as it is shown. Throws a Refusal (400) for one that the specification allows. */
  page(request: PageRequest, page: LedgerPage): ShownPage;
  /** Throws a Refusal (400) for a body that the specification allows. */
  checkBody(body: string): void;
  /** The answer as it goes out. */
  finish(answer: Answer): Answer;
}

/** What a request is recognised by when it comes again. */
export interface RequestNames {
  readonly target: string;
  readonly accessToken: string | undefined;
}

/** A page without faults: the ledger's. */
export function shownPage({ items, next }: LedgerPage): ShownPage {
  return { items, next: next === undefined ? undefined : { cursor: next } };
}

/** A service that keeps to its specification. */
export const noFaults: RequestFaults = {
  throttled: () => undefined,
  rate: () => undefined,
  instead: () => undefined,
  isTokenEnough: () => false,
  check: () => undefined,
  page: (_request, page) => shownPage(page),
  checkBody: () => undefined,
  finish: (answer) => answer,
};

/** A service's surroundings, as its faults make them. */
interface ServiceFaults {
  readonly clock: Clock;
  readonly ledger: Ledger;
  /** Lists that are in every body of events, though the model doesn't have them. */
  readonly lists: readonly string[];
  /** What goes wrong with one request. */
  request(request: FaultRequest, names: RequestNames): RequestFaults;
}

/** A service as it is without faults. */
interface Surroundings {
  readonly clock: Clock;
  readonly ledger: Ledger;
  /** Decides every chance. */
  readonly seed: number;
  /** Takes each hit of a fault, by its kind. */
  readonly hit: (kind: string) => void;
  /** Whether the service has a sign-in. */
  readonly signIn: boolean;
}

/** Makes a service fall short of its specification. The emulator has one for each known fault of the live service. */
export type FaultInjection = (service: Surroundings) => ServiceFaults;

/** A service that keeps to its specification. */
export function withoutFaults({ clock, ledger }: Surroundings): ServiceFaults {
  return { clock, ledger, lists: [], request: () => noFaults };
}

/** A number from 0 up to 1 that looks like chance and is the same for the same seed and words. */
export function draw(seed: number, ...words: readonly (string | number)[]): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ...words]))
    .digest();
  return digest.readUIntBE(0, 6) / 2 ** 48;
}

/** How long answers take, milliseconds: always the same, or evenly drawn. */
export type Latency = number | { readonly least: number; readonly most: number };

/**
 * Waits as long as the answer to a request takes, by the request's number; it ends early when the signal aborts.
 * Throws a USAGE error for a latency that can't be.
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
      // The answer goes out at once then: whoever closes the service shouldn't wait for it.
      if (!signal.aborted) throw error;
    });
  };
}
