import { createAccessTokens } from '../../engine/auth/access-token-cache.js';
import type { SignIn } from '../../engine/auth/token-request.js';
import { createTransport, type TransportOptions } from '../../engine/http/transport.js';
import { connectApi, type PagedClient, type PagedClientOptions } from '../../engine/paging/paged-client.js';
import { readVerdict, ReadFailure, type FailureKind } from '../../engine/retry/read-failure.js';
import type { Verdict } from '../../engine/run/pipeline.js';
import type { Slice } from '../../engine/run/slice-queue.js';
import type { Definition } from '../../engine/slicing/slicing.js';
import { financesApi, type FinancesApiOptions, type WithFinancesV0 } from './api-v0/finances-api.js';
import type { LargeGroups } from './api-v0/large-groups.js';

/** The APIs that the finances are read from. */
export type FinancesUpstream = WithFinancesV0;

/** A pipeline that reads the finances; see `pipelines/`. */
export type FinancesPipeline<S extends Slice = Slice, Page = unknown> = Definition<FinancesUpstream, S, Page>;

export interface ConnectionOptions extends FinancesApiOptions, Omit<PagedClientOptions, 'transport' | 'accessTokens'> {
  /** How the account signs in; left out: the APIs ask for nothing. */
  readonly signIn?: SignIn | undefined;
  readonly largeGroups?: LargeGroups | undefined;
  readonly transport?: TransportOptions | undefined;
}

export interface Connection {
  readonly upstream: FinancesUpstream;
  /** Forgets the pages that dead runs have left of what this run has read. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to the APIs of the finances, which are at one address.
 *
 * @throws LedgerlakeError USAGE for an endpoint, rate or burst that isn't one
 */
export function connectFinances({
  signIn,
  largeGroups,
  transport: timeouts,
  ...options
}: ConnectionOptions): Connection {
  const { clock, random } = options;
  const transport = createTransport({ clock, ...timeouts });
  const accessTokens = signIn && createAccessTokens({ ...signIn, transport, clock, random });
  const client = connectApi(financesApi(options), { ...options, transport, accessTokens });
  return {
    sweep: () => client.sweep(),
    close: () => client.close(),
    upstream: { v0: { ...client, largeGroups } },
  };
}

/** For runs that ask nothing of the finances. */
export const noUpstream: FinancesUpstream = { v0: notAsked() };

function notAsked(): Pick<PagedClient<never, never>, 'pages' | 'pace' | 'begun'> {
  return {
    pages: () => {
      throw new Error('nothing is asked of the finances');
    },
    pace: () => undefined,
    begun: () => [],
  };
}

/** What may help a slice that would be left open otherwise. */
const remedies: Partial<Record<FailureKind, Verdict>> = {
  'cursor-expired': 'retry',
  loop: 'split',
  invalid: 'split',
  'window-too-long': 'shorten',
  known: 'known',
  unaskable: 'known',
  'unknown-subject': 'unknown',
};

/** What becomes of a slice that fails with this. */
export function verdictOn(error: unknown): Verdict {
  // Without a single page it may be the window itself that isn't accepted.
  if (error instanceof ReadFailure && error.kind === 'invalid' && error.pages === 0) return 'shorten';
  return readVerdict(error, remedies);
}
