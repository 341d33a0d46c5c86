import { type Window, dayMs } from '../../core/windows.js';
import { LedgerlakeError } from '../../core/errors.js';
import { createAccessTokens } from '../../engine/auth/access-token-cache.js';
import { createTransport } from '../../engine/http/transport.js';
import {
  requestText,
  type Answer,
  type ApiPage,
  type PagedApi,
  type PageRequest,
  type Query,
} from '../../engine/paging/paged-api.js';
import {
  connectApi,
  signInRetries,
  type PagedClient,
  type PagedClientOptions,
} from '../../engine/paging/paged-client.js';
import { ApiRefusal, type RefusedAnswer, excerpt, isHtml } from '../../engine/retry/api-refusal.js';
import type { Cause } from '../../engine/retry/causes.js';
import { callDefinition, type LoadedDefinition } from './load-definitions.js';
import { definitionError } from '../records/definition-error.js';
import type { CustomAddress } from './custom-address.js';
import { defaultPageSize, pageRequest, readRequest } from './custom-request.js';
import type { AskedWindow, Page, RefusalCause } from './definition.js';
import type { Json } from '../records/record.js';
import { JsonNode, scanned } from '../records/json-node.js';

/** A query for the records of a window. */
interface CustomQuery extends Query {
  readonly window: Window;
  readonly account: string;
}

/** A page of records. Its cursor is the text of the next request. */
export interface CustomPage extends ApiPage {
  readonly records: readonly Json[];
}

/** A custom pipeline's API. */
export type CustomConnection = PagedClient<CustomQuery, CustomPage>;

interface CustomConnectionOptions extends Omit<PagedClientOptions, 'transport' | 'accessTokens'> {
  readonly address: CustomAddress;
  /**
   * Answers without the expected values, and none with them, after which the definition is at fault: 1 for a trial; default
   * unlimited, for a definition that has worked before.
   */
  readonly mostMisses?: number;
}

const defaultLifeMinutes = 3;

/** How long a request of `next` is accepted. */
export function cursorLifeMs({ definition: { api } }: LoadedDefinition): number {
  return (api.cursorLifeMinutes ?? defaultLifeMinutes) * 60_000;
}

/** Connects to a custom pipeline's API. */
export function connectCustom(
  loaded: LoadedDefinition,
  { address, mostMisses = Infinity, ...options }: CustomConnectionOptions,
): CustomConnection {
  const timeoutMs = (loaded.definition.api.timeoutSeconds ?? 60) * 1000;
  const transport = createTransport({
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
    answerTimeoutMs: Math.max(300_000, 2 * timeoutMs),
    clock: options.clock,
  });
  const { signIn } = address;
  const { clock } = options;
  const accessTokens = signIn && createAccessTokens({ ...signIn, transport, clock, ...signInRetries(options) });
  return connectApi(customApi(loaded, address, mostMisses), { ...options, transport, accessTokens });
}

/** The API of a definition as a paged API. */
function customApi(
  loaded: LoadedDefinition,
  address: CustomAddress,
  mostMisses: number,
): PagedApi<CustomQuery, CustomPage> {
  const { file, definition } = loaded;
  const { name, api, windows } = definition;
  const { pageSize = defaultPageSize, quota } = api;
  const withHint = missHint(file, mostMisses);
  return {
    id: `${address.origin}${address.prefix} ${name}`,
    address,
    operations: [name],
    quota,
    rateHeader: quota?.rateHeader?.toLowerCase(),
    cursorLifeMs: cursorLifeMs(loaded),
    pageSizes: [pageSize],
    ...(windows?.longestDays !== undefined && { longestWindowMs: windows.longestDays * dayMs }),
    windowOf: ({ window }) => window,
    request: (query, cursor) => {
      if (cursor !== undefined) return readRequest(cursor);
      const first = callDefinition(file, 'first', () => definition.first(askedWindow(query, pageSize)));
      return pageRequest(file, address, first);
    },
    readPage: (query, answer, request) => {
      const page = customPage(loaded, answer, request, askedWindow(query, pageSize));
      const records = recordsOf(loaded, page, withHint);
      const next = callDefinition(file, 'next', () => definition.next?.(page));
      const cursor = next === undefined ? undefined : requestText(pageRequest(file, address, next, request.path));
      return { records, results: records.length, cursor };
    },
    resultTexts: ({ records }) => records.map(({ raw }) => raw),
    refusal: (_query, answer) => customRefusal(loaded, answer, definedCause(loaded, answer)),
    emptyPage: (answer) => {
      const isEmpty = answer.status === 204 || (!isHtml(answer.body) && definedCause(loaded, answer) === 'empty');
      return isEmpty ? { records: [], results: 0, cursor: undefined } : undefined;
    },
  };
}

function askedWindow({ window, account }: CustomQuery, pageSize: number): AskedWindow {
  return { from: new Date(window.start), to: new Date(window.end), account, pageSize };
}

/** @throws ApiRefusal for an answer that refuses in its body */
function customPage(loaded: LoadedDefinition, answer: Answer, request: PageRequest, window: AskedWindow): Page {
  const { file, definition } = loaded;
  const { path, body: sent } = request;
  const header = (name: string): string | undefined => answer.headers.get(name.toLowerCase());
  const body = scanned(answer.body);
  const cause = callDefinition(file, 'api.causeOfPage', () => definition.api.causeOfPage?.(body));
  if (cause !== undefined)
    throw pageRefusal(loaded, answer, { cause, path, method: sent === undefined ? 'GET' : 'POST' });
  const posted = sent === undefined ? undefined : scanned(Buffer.from(sent));
  return { body, header, request: path, posted, window };
}

function recordsOf({ file, definition }: LoadedDefinition, page: Page, withHint: WithHint): readonly Json[] {
  const records: unknown = callDefinition(file, 'records', () => withHint(() => definition.records(page)));
  if (Array.isArray(records) && records.every((record): record is Json => record instanceof JsonNode)) return records;
  throw definitionError(file, 'records', 'expected a list of values of the page, such as page.body.list("items")');
}

type WithHint = <T>(read: () => T) => T;

/**
 * Calls what reads an answer. Where a value is missing, the error suggests correcting the definition; after `mostMisses`
 * answers without a success it is the definition's error.
 */
function missHint(file: string, mostMisses: number): WithHint {
  let left = mostMisses;
  return (read) => {
    try {
      const found = read();
      left = Infinity;
      return found;
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code !== 'UPSTREAM_BODY') throw error;
      if (--left <= 0) throw definitionError(file, 'records', error.message);
      const hint = `if that is a usual answer of the API, correct records of ${file}; backfill --dry-run tests it`;
      throw new LedgerlakeError(error.code, `${error.message}; ${hint}`, { cause: error });
    }
  };
}

const refusalCauses = [
  'throttled',
  'fault',
  'invalid',
  'too-large',
  'cursor-expired',
  'denied',
  'mistake',
] as const satisfies readonly RefusalCause[];

const remedies: Readonly<Partial<Record<Cause, string>>> = {
  throttled: 'The quota is used up: try again later, or lower api.quota',
  fault: 'The API has a fault: try again later',
  denied: 'Check the headers that sign in, and their permissions',
  'access-expired': 'Check api.signIn, and the permissions of its client and scope',
  'not-the-api': 'The answer may not come from the API: check api.address',
};

/**
 * The definition's cause for a status other than 200.
 *
 * @throws LedgerlakeError DEFINITION for an unknown cause
 */
function definedCause(
  { file, definition: { api } }: LoadedDefinition,
  { status, headers, body }: Pick<RefusedAnswer, 'status' | 'headers' | 'body'>,
): RefusalCause | 'empty' | undefined {
  const header = (name: string): string | undefined => headers.get(name.toLowerCase());
  const cause = callDefinition(file, 'api.causeOf', () => api.causeOf?.({ status, body: bodyJson(body), header }));
  return cause === undefined || cause === 'empty' ? cause : knownCause(file, 'api.causeOf', cause);
}

function knownCause(file: string, field: string, cause: RefusalCause): RefusalCause {
  if (refusalCauses.includes(cause)) return cause;
  throw definitionError(file, field, `expected one of ${refusalCauses.join(', ')}, got ${JSON.stringify(cause)}`);
}

/** The refusal of an answer with status 200 and an error in its body, as in GraphQL. */
function pageRefusal(
  loaded: LoadedDefinition,
  { headers, body }: Answer,
  { cause, ...sent }: { readonly cause: RefusalCause } & Pick<RefusedAnswer, 'path' | 'method'>,
): ApiRefusal {
  const stated = knownCause(loaded.file, 'api.causeOfPage', cause);
  const unknown = { requestId: undefined, hadCursor: false, signedIn: false, skewMs: undefined };
  const date = Date.parse(headers.get('date') ?? '');
  // Without the date of the answer a date in `Retry-After` is ignored.
  const receivedAt = Number.isNaN(date) ? Infinity : date;
  return customRefusal(loaded, { status: 200, headers, body, ...sent, ...unknown, receivedAt }, stated);
}

function customRefusal(
  { file, definition: { name, api } }: LoadedDefinition,
  answer: RefusedAnswer,
  cause: RefusalCause | 'empty' | undefined,
): ApiRefusal {
  const { status, body } = answer;
  const json = bodyJson(body);
  // A web page isn't an empty answer.
  const refusalCause = cause === undefined || cause === 'empty' ? usualCause(answer) : cause;
  const said = json && callDefinition(file, 'api.messageOf', () => api.messageOf?.(json));
  const text = excerpt(said ?? new TextDecoder().decode(body.subarray(0, 2048)), 500).replace(/\.$/, '');
  const remedy = remedies[refusalCause] ?? 'Check the requests of the definition';
  const message = `${name} got status ${status}: ${text === '' ? 'an empty body' : text}. ${remedy}.`;
  return new ApiRefusal({ refusalCause, message }, answer);
}

function usualCause({ status, body, signedIn }: RefusedAnswer): Cause {
  if (status === 429) return 'throttled';
  if (status >= 500 || status === 408) return 'fault';
  if (status < 400 || isHtml(body)) return 'not-the-api';
  // Another access token may be accepted.
  if (status === 401 && signedIn) return 'access-expired';
  if (status === 401 || status === 403) return 'denied';
  return status === 413 ? 'too-large' : 'mistake';
}

function bodyJson(body: Uint8Array): JsonNode | undefined {
  try {
    return scanned(body);
  } catch {
    // Not JSON: the message quotes the text itself.
    return undefined;
  }
}
