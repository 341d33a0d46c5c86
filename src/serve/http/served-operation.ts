import { requestRefusal, invalidInput, tokenExpired } from './outcome.js';
import type { Refusal } from '../../core/http-server/refusal.js';
import type { OperationName } from './counts.js';
import type { Ledger, LedgerItem, LedgerPage } from './ledger.js';
import { percentDecoded } from './query-parameters.js';
import type { Chain, ChainPosition, NextTokens } from './signed-tokens.js';

export interface TokenRules {
  readonly tokens: NextTokens;
  /** How long a token is taken, milliseconds; undefined: for ever. */
  readonly tokenLifeMs: number | undefined;
  /**
   * Whether a token is taken without the parameters that must come with it. To be asked only for a token that comes without
   * them.
   */
  isTokenEnough(): boolean;
}

/** A request for a page, as it came. */
export interface AskedPage {
  /** The path parameter as it is in the address, still percent-encoded; undefined where the path has none. */
  readonly rawSubject: string | undefined;
  /** Percent-encoded. */
  readonly query: string;
  readonly rules: TokenRules;
  /** When it came, milliseconds since 1970. */
  readonly now: number;
}

/** A checked request: the chain of pages it begins or goes on with. */
export interface PageRequest {
  readonly chain: Chain;
  /** Where the ledger goes on; undefined: at the beginning. */
  readonly cursor: string | undefined;
  /** The token as it came; undefined: a first request. */
  readonly token: string | undefined;
  /** How many pages of the chain were delivered before. */
  readonly pages: number;
  /** How many results they had. */
  readonly results: number;
}

/** What a page's body says. */
export interface PageContents {
  /** undefined: the list of results is missing. */
  readonly items: readonly LedgerItem[] | undefined;
  /** null: the last page says so. */
  readonly nextToken: string | null | undefined;
}

/** An operation as the service answers it: what differs from one API to the other. */
export interface ServedOperation {
  readonly name: OperationName;
  /** Path with the path parameter in braces. */
  readonly path: string;
  /** Query parameter that carries the token of the next page. */
  readonly tokenParameter: string;
  /** Query parameter that asks for a page's size; undefined: there is none. */
  readonly sizeParameter: string | undefined;
  /** Results a page where no size is asked for. */
  readonly pageSize: number;
  /** Requests at once, where the service is not set to others. */
  readonly burst: number;
  /** Checks a request by all rules of the API. Throws a Refusal (400) that names the rule. */
  read(asked: AskedPage): PageRequest;
  /** The ledger's page for a checked request. Throws a Refusal (404) for what the ledger hasn't. */
  pageOf(ledger: Ledger, request: PageRequest): Promise<LedgerPage>;
  /**
   * The JSON of a page. Each item's JSON goes out as the ledger has it, byte for byte, in the ledger's order. `lists`: lists
   * of events that the body has besides the model's.
   */
  bodyOf(contents: PageContents, lists: readonly string[]): string;
  /** Refuses a page that is too large to be sent. */
  tooLarge(results: number): Refusal;
}

/** Whose token it must be: the same operation's and path's. */
interface TokenOwner {
  readonly parameter: string;
  readonly operation: OperationName;
  readonly subject: string | undefined;
}

/** The position that a token encodes. Throws a Refusal (400) for a token that is not the owner's, or too old. */
export function positionOf(token: string, owner: TokenOwner, rules: TokenRules, now: number): ChainPosition {
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

export interface Route {
  readonly operation: ServedOperation;
  readonly rawSubject: AskedPage['rawSubject'];
}

/**
 * Finds the operation that a request asks for, by method and path. Paths are case-sensitive, a slash at the end makes another
 * path, and an encoded slash belongs to the segment that it is in.
 * Throws a Refusal: 404 for a path of no operation, 405 for another method than GET, 400 for one that can't be decoded.
 */
export function createRoutes(operations: readonly ServedOperation[]): (method: string, path: string) => Route {
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
