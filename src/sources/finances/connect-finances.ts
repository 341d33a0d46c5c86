import type { Pipeline } from '../../engine/run/pipeline.js';
import { createAccessTokens, type AccessTokens } from '../../engine/auth/access-token-cache.js';
import type { SignIn } from '../../engine/auth/token-request.js';
import { createTransport, type TransportOptions } from '../../engine/http/transport.js';
import {
  connectApi,
  signInRetries,
  type PagedClient,
  type PagedClientOptions,
} from '../../engine/paging/paged-client.js';
import type { Slice } from '../../engine/run/slice-queue.js';
import { financesApis, type FinancesReaders } from './finances-apis.js';
import type {
  ApiQuery,
  FinancesApi,
  FinancesApiOptions,
  FinancesReader,
  PagedFinancesApi,
} from './selling-partner/finances-api.js';
import type { ScannedApiPage } from './selling-partner/scanned-page.js';
import { connectReports, type ReportsClient, type WithReports } from './settlement-reports/reports-api.js';

/** A client of each Finances API, by its name, and one of that of reports. */
export interface FinancesUpstream extends FinancesReaders, WithReports {}

/** A pipeline that reads the finances; see `pipelines/`. */
export type FinancesPipeline<S extends Slice = Slice, Page = unknown, Prepared = unknown> = Pipeline<
  FinancesUpstream,
  S,
  Page,
  Prepared
>;

export interface ConnectionOptions extends FinancesApiOptions, Omit<PagedClientOptions, 'transport' | 'accessTokens'> {
  /** Left out: the APIs require no access token. */
  readonly signIn?: SignIn | undefined;
  readonly transport?: TransportOptions | undefined;
}

/** Reads operations by their names. */
type OperationClient = Pick<PagedClient<ApiQuery, ScannedApiPage>, 'pages'> &
  Pick<PagedFinancesApi<ApiQuery, ScannedApiPage>, 'eachResult'>;

export interface SourceConnection {
  readonly upstream: FinancesUpstream;
  /** Removes the pages that dead runs left of this run's operations. */
  sweep(): Promise<void>;
  /** Removes every page that isn't committed: they belong to another account. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export interface FinancesConnection extends SourceConnection {
  /** Undefined: the APIs require none. */
  readonly accessTokens: AccessTokens | undefined;
  /** The client of the API that has an operation. */
  clientOf(operation: string): OperationClient;
}

/**
 * Connects to the Finances APIs and to that of reports, which share one address.
 *
 * @throws LedgerlakeError USAGE for an invalid endpoint, rate or burst
 */
export function connectFinances({ signIn, transport: timeouts, ...options }: ConnectionOptions): FinancesConnection {
  const { clock } = options;
  const transport = createTransport({ clock, ...timeouts });
  const accessTokens = signIn && createAccessTokens({ ...signIn, transport, clock, ...signInRetries(options) });
  const common = { ...options, transport, accessTokens };
  const clients = financesApis.map((api: FinancesApi) => {
    const paged = api.paged(options);
    return { name: api.name, ...paged, ...connectApi(paged, common) };
  });
  return {
    sweep: async () => {
      for (const client of clients) await client.sweep();
    },
    clear: async () => {
      for (const client of clients) await client.clear();
    },
    clientOf: (operation) => {
      const client = clients.find(({ operations }) => operations.includes(operation));
      if (client === undefined) throw new Error(`no API has the operation ${operation}`);
      return client;
    },
    close: async () => {
      await transport.close();
      await options.kept?.flush();
    },
    accessTokens,
    upstream: { ...byName(clients), reports: connectReports(common) },
  };
}

/** For runs without requests to the Finances APIs. */
export const noUpstream: FinancesUpstream = {
  ...byName(financesApis.map(({ name }) => ({ name, ...noClient() }))),
  reports: noReports(),
};

/** Clients of all APIs; each is that of the API with its name. */
function byName(
  clients: readonly (FinancesReader<ApiQuery, ScannedApiPage> & { readonly name: string })[],
): FinancesReaders {
  const named = clients.map((client): [string, FinancesReader<ApiQuery, ScannedApiPage>] => [client.name, client]);
  return Object.fromEntries(named) as FinancesReaders;
}

function noReports(): ReportsClient {
  const refuse = () => Promise.reject(new Error('this run has no connection to the Reports API'));
  return { list: refuse, document: refuse, pace: () => undefined, begun: () => [] };
}

function noClient(): FinancesReader<ApiQuery, never> {
  return {
    pages: () => {
      throw new Error('this run has no connection to the Finances APIs');
    },
    pace: () => undefined,
    begun: () => [],
  };
}
