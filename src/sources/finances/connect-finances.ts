import { createAccessTokens } from '../../engine/auth/access-token-cache.js';
import type { SignIn } from '../../engine/auth/token-request.js';
import { createTransport, type TransportOptions } from '../../engine/http/transport.js';
import { connectApi, type PagedClient, type PagedClientOptions } from '../../engine/paging/paged-client.js';
import type { Slice } from '../../engine/run/slice-queue.js';
import type { Definition } from '../../engine/slicing/slicing.js';
import { transactionsApi, type WithTransactions } from './api-2024-06-19/transactions-api.js';
import type { FinancesApiOptions } from './selling-partner/api-options.js';
import { financesApi, type WithFinancesV0 } from './api-v0/finances-api.js';
import type { LargeGroups } from './api-v0/large-groups.js';

/** The APIs that the finances are read from. */
export interface FinancesUpstream extends WithFinancesV0, WithTransactions {}

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
  /** Forgets every page that isn't in the lake: they are another account's. */
  clear(): Promise<void>;
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
  const common = { ...options, transport, accessTokens };
  const v0 = connectApi(financesApi(options), common);
  const transactions = connectApi(transactionsApi(options), common);
  return {
    sweep: async () => {
      await v0.sweep();
      await transactions.sweep();
    },
    // Both have one journal.
    clear: () => v0.clear(),
    close: async () => {
      await transport.close();
      await options.kept?.flush();
    },
    upstream: { v0: { ...v0, largeGroups }, transactions },
  };
}

/** For runs that ask nothing of the finances. */
export const noUpstream: FinancesUpstream = { v0: notAsked(), transactions: notAsked() };

function notAsked(): Pick<PagedClient<never, never>, 'pages' | 'pace' | 'begun'> {
  return {
    pages: () => {
      throw new Error('nothing is asked of the finances');
    },
    pace: () => undefined,
    begun: () => [],
  };
}
