import { createAccessTokens } from '../../engine/auth/access-token-cache.js';
import type { SignIn } from '../../engine/auth/token-request.js';
import { createTransport, type TransportOptions } from '../../engine/http/transport.js';
import {
  connectApi,
  signInRetries,
  type PagedClient,
  type PagedClientOptions,
} from '../../engine/paging/paged-client.js';
import type { Slice } from '../../engine/run/slice-queue.js';
import type { Definition } from '../../engine/slicing/slicing.js';
import { transactionsApi, type WithTransactions } from './api-2024-06-19/transactions-api.js';
import type { FinancesApiOptions } from './selling-partner/api-options.js';
import { financesApi, type WithFinancesV0 } from './api-v0/finances-api.js';
import type { LargeGroups } from './api-v0/large-groups.js';

/** The Finances APIs. */
export interface FinancesUpstream extends WithFinancesV0, WithTransactions {}

/** A pipeline that reads the finances; see `pipelines/`. */
export type FinancesPipeline<S extends Slice = Slice, Page = unknown> = Definition<FinancesUpstream, S, Page>;

interface ConnectionOptions extends FinancesApiOptions, Omit<PagedClientOptions, 'transport' | 'accessTokens'> {
  /** Left out: the APIs require no access token. */
  readonly signIn?: SignIn | undefined;
  readonly largeGroups?: LargeGroups | undefined;
  readonly transport?: TransportOptions | undefined;
}

export interface Connection {
  readonly upstream: FinancesUpstream;
  /** Removes the pages that dead runs left of this run's operations. */
  sweep(): Promise<void>;
  /** Removes every page that isn't committed: they belong to another account. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to the Finances APIs, which share one address.
 *
 * @throws LedgerlakeError USAGE for an invalid endpoint, rate or burst
 */
export function connectFinances({
  signIn,
  largeGroups,
  transport: timeouts,
  ...options
}: ConnectionOptions): Connection {
  const { clock } = options;
  const transport = createTransport({ clock, ...timeouts });
  const accessTokens = signIn && createAccessTokens({ ...signIn, transport, clock, ...signInRetries(options) });
  const common = { ...options, transport, accessTokens };
  const v0 = connectApi(financesApi(options), common);
  const transactions = connectApi(transactionsApi(options), common);
  return {
    sweep: async () => {
      await v0.sweep();
      await transactions.sweep();
    },
    // Both share one journal.
    clear: () => v0.clear(),
    close: async () => {
      await transport.close();
      await options.kept?.flush();
    },
    upstream: { v0: { ...v0, largeGroups }, transactions },
  };
}

/** For runs without requests to the Finances APIs. */
export const noUpstream: FinancesUpstream = { v0: noClient(), transactions: noClient() };

function noClient(): Pick<PagedClient<never, never>, 'pages' | 'pace' | 'begun'> {
  return {
    pages: () => {
      throw new Error('this run has no connection to the Finances APIs');
    },
    pace: () => undefined,
    begun: () => [],
  };
}
