import { requestRefusal, invalidInput, tokenExpired } from './outcome.js';
import type { HttpRefusal } from '../../core/http-server/refusal.js';
import type { BackendItem, BackendPage, BackendQuery } from './backend-page.js';
import type { OperationName } from '../../sources/finances/finances-apis.js';
import { percentDecoded } from './query-parameters.js';
import type { Chain, ChainPosition, NextTokens } from './signed-tokens.js';

interface TokenRules {
  readonly tokens: NextTokens;
  /** How long a token is valid, milliseconds; undefined: without limit. */
  readonly tokenLifeMs: number | undefined;
  /**
   * Whether a token is accepted without the parameters that must accompany it. Call it only for a token without them.
   */
  isTokenSufficient(): boolean;
}

/** A request for a page, unchecked. */
export interface UncheckedRequest {
  /** The path parameter, percent-encoded; undefined where the path has none. */
  readonly rawSubject: string | undefined;
  /** Percent-encoded. */
  readonly query: string;
  readonly rules: TokenRules;
  /** Instant of arrival, milliseconds since 1970. */
  readonly now: number;
}

/** A checked request: the first or a later page of a chain. */
export interface CheckedRequest extends Omit<ChainPosition, 'issuedAt'> {
  /** The token as received; undefined: a first request. */
  readonly token: string | undefined;
}

/** The request for the first page of a chain. */
export function firstRequest(chain: Chain): CheckedRequest {
  return { chain, cursor: undefined, token: undefined, pages: 0, results: 0 };
}

/** The contents of a page's body. */
export interface PageContents {
  /** Undefined: the body has no list of results. */
  readonly items: readonly BackendItem[] | undefined;
  /** Undefined or, where the body says so, null: there is no next page. */
  readonly nextToken: string | null | undefined;
}

/** Reads a page of a chain from the part of the backend that an API reads. */
export type ReadPage<L> = (backend: L, chain: Chain, query: BackendQuery) => Promise<BackendPage>;

/** An operation of the server: the differences between the APIs. `L`: the part of the backend that it reads. */
export interface ServedOperation<L> {
  readonly name: OperationName;
  /** Path with the path parameter in braces. */
  readonly path: string;
  /** Query parameters besides the token. */
  readonly parameters: readonly string[];
  /** Query parameter for the token of the next page. */
  readonly tokenParameter: string;
  /** Default rate in requests a second. */
  readonly rate: number;
  /** Default burst in requests. */
  readonly burst: number;
  /**
   * Checks a request by all rules of the API.
   *
   * @throws Refusal (400) that names the rule
   */
  read(request: UncheckedRequest): CheckedRequest;
  /**
   * The backend's page for a checked request.
   *
   * @throws Refusal (404) for a subject that the backend doesn't have
   */
  pageOf(backend: L, request: CheckedRequest): Promise<BackendPage>;
  /** The JSON of a page. Each item's JSON is sent as the backend has it, byte for byte, in the backend's order. */
  bodyOf(
    contents: PageContents,
    context: {
      /** Lists of events besides the model's. */
      readonly lists: readonly string[];
      /** The address of a document for the client of the request. */
      readonly addressOf: (documentId: string) => string;
    },
  ): string;
  /** The refusal of a page that is too large. */
  tooLarge(results: number): HttpRefusal;
}

/**
 * The position that a token encodes.
 *
 * @throws Refusal (400) for a token of another operation or path, or an expired one
 */
export function positionOf(
  token: string,
  owner: Pick<Chain, 'operation' | 'subject'> & { readonly parameter: string },
  rules: TokenRules,
  now: number,
): ChainPosition {
  const position = rules.tokens.read(token);
  if (position?.chain.operation !== owner.operation || position.chain.subject !== owner.subject) {
    throw invalidInput(
      `${owner.parameter} is not valid: it must come unchanged from the same operation and path.`,
      token,
    );
  }
  if (rules.tokenLifeMs !== undefined && now - position.issuedAt > rules.tokenLifeMs) {
    throw tokenExpired(rules.tokenLifeMs / 60_000);
  }
  return position;
}

export interface Route<L> {
  readonly operation: ServedOperation<L>;
  readonly rawSubject: UncheckedRequest['rawSubject'];
}

/**
 * Finds the operation of a request by method and path. Paths are case-sensitive, a trailing slash makes another path,
 * and an encoded slash is part of its segment.
 *
 * @throws Refusal 404 for a path of no operation, 405 for another method than GET, 400 for a path that can't be decoded
 */
export function createRoutes<L>(operations: readonly ServedOperation<L>[]): (method: string, path: string) => Route<L> {
  const table = operations.map((operation) => ({ operation, segments: operation.path.split('/') }));
  return (method, path) => {
    const segments = path.split('/');
    const found = table.find(
      (row) =>
        row.segments.length === segments.length &&
        row.segments.every((segment, index) => segment.startsWith('{') || segment === segments[index]),
    );
    if (found === undefined) {
      if (percentDecoded(path) === undefined) throw invalidInput('The path is not percent-encoded UTF-8.', path);
      throw requestRefusal(404, 'There is no resource at this path.', path);
    }
    if (method !== 'GET') throw requestRefusal(405, `${found.operation.name} is a GET operation.`, method);
    return {
      operation: found.operation,
      rawSubject: segments[found.segments.findIndex((segment) => segment.startsWith('{'))],
    };
  };
}
