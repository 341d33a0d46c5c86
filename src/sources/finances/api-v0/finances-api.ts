import type { Slice } from '../../../engine/run/slice-queue.js';
import type { Definition } from '../../../engine/slicing/slicing.js';
import type { Window } from '../../../core/windows.js';
import { createAccessTokens } from '../../../engine/auth/access-token-cache.js';
import type { SignIn } from '../../../engine/auth/token-request.js';
import { createTransport, type TransportOptions } from '../../../engine/http/transport.js';
import { readVerdict, ReadFailure, type FailureKind } from '../../../engine/retry/read-failure.js';
import type { PagedApi } from '../../../engine/paging/paged-api.js';
import { connectApi, type PagedClient, type PagedClientOptions } from '../../../engine/paging/paged-client.js';
import type { Pace, Reading, Verdict } from '../../../engine/run/pipeline.js';
import { DateRecovery } from './cursor-recovery.js';
import { readEndpoint } from '../../../engine/http/address.js';
import { eachResult, readFinancesPage, resultText, type FinancesPage } from './finances-page.js';
import type { LargeGroups } from './large-groups.js';
import { limits, operations, type OperationName } from './operations.js';
import { financesRefusal } from './refusals.js';
import { pageParameters, requestPath, windowOf, type FinancesQuery, type RequestParameters } from './request-path.js';

/** Page sizes that are tried one after the other where a page is too large for the service. */
const pageSizes = [limits.pageSize, 50, 25, 10, 5, 2, 1];

export interface FinancesApiOptions {
  /** Base address; a path in it comes before that of the operations. */
  readonly endpoint: URL | string;
  /** Of each operation, as long as the service names no other rate; undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number } | undefined;
  /** How long a NextToken is accepted. */
  readonly cursorLifeMs: number;
}

/**
 * Finances v0 as a paged API.
 *
 * @throws LedgerlakeError USAGE for an endpoint that isn't a base address
 */
export function financesApi({
  endpoint,
  quota,
  cursorLifeMs,
}: FinancesApiOptions): PagedApi<FinancesQuery, FinancesPage> {
  const { origin, prefix, authorization, login } = readEndpoint(endpoint);
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...(authorization !== undefined && { authorization }),
  };
  return {
    id: String(endpoint),
    address: { origin, headers, secrets: login, setting: '--endpoint' },
    operations: Object.keys(operations),
    quota,
    rateHeader: 'x-amzn-ratelimit-limit',
    requestIdHeader: 'x-amzn-requestid',
    cursorLifeMs,
    pageSizes,
    longestWindowMs: limits.maxSpanMs,
    requestPath: (query, cursor, pageSize) =>
      prefix + requestPath(query.operation, pageParameters(query, cursor, pageSize)),
    windowOf,
    readPage: (_query, { body }) => readFinancesPage(body),
    refusal: financesRefusal,
    resultTexts: (page) => {
      const texts: string[] = [];
      eachResult(page, (list, node) => texts.push(resultText(page, list, node)));
      return texts;
    },
    recovery: (query) => new DateRecovery(query),
  };
}

/** The service as pipelines see it. */
export interface FinancesUpstream {
  /**
   * The pages of an operation's answer in order, through empty ones too, until there are no more.
   *
   * @throws LedgerlakeError with what the service, the network or the page has against it
   */
  pages(
    operation: OperationName,
    parameters: RequestParameters,
    reading: Reading<FinancesUpstream>,
  ): AsyncIterable<FinancesPage>;
  /** How fast an operation can be asked; undefined: as fast as it answers. */
  pace(operation: OperationName): Pace | undefined;
  /** Settlements that were found to be too large to be read; left out: nobody keeps them in mind. */
  readonly largeGroups?: LargeGroups | undefined;
  /** The windows of an operation that a run which was stopped had begun to read, as far as they can be continued. */
  begun(operation: OperationName): readonly Window[];
}

/** A pipeline that reads the service; see `pipelines/`. */
export type FinancesPipeline<S extends Slice = Slice, Page = unknown> = Definition<FinancesUpstream, S, Page>;

export interface ConnectionOptions extends FinancesApiOptions, Omit<PagedClientOptions, 'transport' | 'accessTokens'> {
  /** How the account signs in; left out: the service asks for nothing. */
  readonly signIn?: SignIn | undefined;
  readonly largeGroups?: LargeGroups | undefined;
  readonly transport?: TransportOptions | undefined;
}

export interface Connection extends Pick<PagedClient<FinancesQuery, FinancesPage>, 'sweep' | 'close'> {
  readonly upstream: FinancesUpstream;
}

/**
 * Connects to the service.
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
    upstream: {
      largeGroups,
      pages: (operation, parameters, reading) => client.pages({ operation, parameters }, reading),
      pace: (operation) => client.pace(operation),
      begun: (operation) => client.begun(operation),
    },
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
