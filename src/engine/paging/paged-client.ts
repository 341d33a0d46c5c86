import { createHash } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import type { WaitWarning } from '../retry/wait-warning.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { createTransport, type TransportOptions } from '../http/transport.js';
import type { Journal } from '../journal/journal.js';
import type { KeptQuota } from '../rate-limit/kept-quota.js';
import { latencyAfter } from '../rate-limit/latency.js';
import { pacedQueue } from '../rate-limit/paced-queue.js';
import type { RequestQueue } from '../rate-limit/request-queue.js';
import { isWorthPacing } from '../rate-limit/worth-pacing.js';
import type { Pace, Verdict } from '../run/pipeline.js';
import { createAccessTokens } from '../auth/access-token-cache.js';
import type { SignIn } from '../auth/token-request.js';
import { createAttempts } from './page-requests.js';
import { createFinancesClient } from './api-client.js';
import type { LargeGroups } from '../../sources/finances/api-v0/large-groups.js';
import { operations, type OperationName } from '../../sources/finances/api-v0/operations.js';
import { scanPage } from '../../sources/finances/api-v0/finances-page.js';
import type { KnownPage } from './paginator.js';
import { FoundSize } from './page-size.js';
import { readChain } from '../../sources/finances/api-v0/pages.js';
import { ReadFailure, type FailureKind } from '../retry/read-failure.js';
import { isPathOf, requestPath, windowIn, type RequestParameters } from '../../sources/finances/api-v0/request-path.js';
import type { FinancesUpstream } from '../../sources/finances/api-v0/finances-api.js';

export interface ConnectionOptions {
  readonly endpoint: string;
  /** Of each operation, as long as the service names no other rate; undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number } | undefined;
  readonly clock: Clock;
  /** From 0 up to 1: spreads what is tried again. */
  readonly random: () => number;
  /** How the account signs in; left out: the service asks for nothing. */
  readonly signIn?: SignIn | undefined;
  /** What the buckets held when the last run ended, and where this one's are kept. */
  readonly kept?: KeptQuota | undefined;
  /** Pages of slices that are open, for the next run should this one die. */
  readonly journal?: Journal | undefined;
  readonly largeGroups?: LargeGroups | undefined;
  /** How long a NextToken is taken. */
  readonly tokenLifeMs: number;
  readonly transport?: TransportOptions | undefined;
  /** Told of long waits for the service. */
  readonly waiting?: WaitWarning | undefined;
  /** Takes what becomes of the buckets; left out: nobody listens. */
  readonly emit?: Emit | undefined;
}

export interface Connection {
  readonly upstream: FinancesUpstream;
  /**
   * Forgets the pages that dead runs have left, once a run has come to its end: of operations that it had a look at. What
   * another run may go on with stays.
   */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to the service: one transport, and for each operation a queue with a bucket of its own.
 *
 * @throws LedgerlakeError USAGE for an endpoint, rate or burst that isn't one
 */
export function connectFinances(options: ConnectionOptions): Connection {
  const { endpoint, quota, clock, random, signIn, kept, journal, tokenLifeMs, waiting, emit } = options;
  const names = Object.keys(operations) as OperationName[];
  const queues = Object.fromEntries(
    names.map((name) => [name, pacedQueue({ name, quota, clock, tokenLifeMs, kept, emit })]),
  ) as Record<OperationName, RequestQueue>;
  const latencies = new Map<OperationName, number>();
  const foundSizes = Object.fromEntries(names.map((name) => [name, new FoundSize()])) as Record<
    OperationName,
    FoundSize
  >;
  const transport = createTransport({ clock, ...options.transport });
  // Another service's tokens are of no use here. The address itself may hold a password.
  const service = `${createHash('sha256').update(endpoint).digest('hex').slice(0, 16)} `;
  const lookedAt = new Set<OperationName>();
  const questionOf = (name: OperationName, parameters: RequestParameters): string =>
    service + requestPath(name, parameters);
  const accessTokens = signIn && createAccessTokens({ ...signIn, transport, clock, random });
  const client = createFinancesClient({ endpoint, transport, queues, accessTokens, clock });
  const request = createAttempts({
    client,
    clock,
    random,
    onThrottled: (name, waitMs) => {
      queues[name].bucket?.refused(waitMs);
    },
    onWait: waiting,
    onFailed: (name) => {
      queues[name].bucket?.failed();
    },
    onAnswer: (name, seconds) => {
      queues[name].bucket?.granted();
      latencies.set(name, latencyAfter(latencies.get(name), seconds));
    },
  });

  return {
    sweep: async () => {
      const isOver = (question: string): boolean =>
        question.startsWith(service) && [...lookedAt].some((name) => isPathOf(name, question.slice(service.length)));
      await journal?.sweep(isOver);
    },
    close: async () => {
      await transport.close();
      await kept?.flush();
    },
    upstream: {
      largeGroups: options.largeGroups,
      pages: async function* (operation, parameters, reading) {
        const question = questionOf(operation, parameters);
        reading.committed(async () => journal?.drop(question));
        const kept = (await journal?.takeOver(question)) ?? [];
        const chain = readChain(
          { operation, parameters },
          {
            // Another place in the queue with every page.
            request: (name, asked, asking) => request(name, asked, { ...asking, priority: reading.priority }),
            clock,
            priority: reading.priority,
            signal: reading.signal,
            counts: reading.counts,
            emit: (event) => {
              reading.emit(event);
            },
            tokenLifeMs,
            foundSize: foundSizes[operation],
            resume: kept.map((page): KnownPage => ({ ...page, page: scanPage(page.body) })),
            onPage: (page) => journal?.add(question, page),
          },
        );
        try {
          yield* chain;
        } catch (error) {
          // It will be read from its beginning, or in parts.
          if (error instanceof ReadFailure) await journal?.drop(question);
          throw error;
        }
      },
      pace: (name): Pace | undefined => {
        // The first that a pipeline asks for, also where it has nothing to read.
        lookedAt.add(name);
        const { bucket } = queues[name];
        if (bucket === undefined || !isWorthPacing(bucket.rate)) return undefined;
        return { rate: bucket.rate, burst: bucket.burst, level: bucket.level(), latency: latencies.get(name) };
      },
      begun: (name) =>
        (journal?.begun() ?? []).flatMap((question) =>
          question.startsWith(service) ? (windowIn(name, question.slice(service.length)) ?? []) : [],
        ),
    },
  };
}

/** What else may help a slice that is left open otherwise. */
const remedies: Partial<Record<FailureKind, Verdict>> = {
  'token-expired': 'again',
  loop: 'part',
  invalid: 'part',
  'window-too-long': 'shorten',
  known: 'known',
  unaskable: 'known',
  'unknown-subject': 'unknown',
};

/** What becomes of a slice that fails with this. */
export function verdictOn(error: unknown): Verdict {
  // A window that came back empty and would take the place of imported rows: the others go on.
  if (error instanceof LedgerlakeError && error.code === 'UPSTREAM_EMPTY') return 'leave';
  if (!(error instanceof ReadFailure) || error.consequence === 'stop') return 'stop';
  // Without a single page it may be the window itself that isn't taken.
  if (error.kind === 'invalid' && error.pages === 0) return 'shorten';
  return remedies[error.kind] ?? 'leave';
}
