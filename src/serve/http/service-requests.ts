import { type DateRange, limits, type Operation, operations } from '../../sources/finances/api-v0/operations.js';
import type { InstantRange } from './ledger.js';
import { invalidInput, requestRefusal, tokenExpired } from './outcome.js';
import type { Chain, ChainPosition, NextTokens } from './signed-tokens.js';
import { parseInstant } from '../../core/numeric/instant.js';
import { quoted } from '../../core/http-server/refusal.js';

/** A bound of a range of dates. */
interface Bound {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As it came. */
  readonly text: string;
}

/** What a query string says, checked one by one; how the parameters go together is checked elsewhere. */
interface Parameters {
  readonly pageSize: number | undefined;
  /** Lower bound. */
  readonly after: Bound | undefined;
  /** Upper bound. */
  readonly before: Bound | undefined;
  readonly token: string | undefined;
}

/** The query parameters of an operation, by the specification's table of operations (section 4). */
function namesOf(operation: Operation): readonly string[] {
  const range = operation.range === undefined ? [] : [operation.range.after, operation.range.before];
  return ['MaxResultsPerPage', ...range, 'NextToken'];
}

function unknownParameter(operation: Operation, name: string): Error {
  const meant = namesOf(operation).find((known) => known.toLowerCase() === name.toLowerCase());
  return meant === undefined
    ? invalidInput(
        `${operation.name} has no parameter ${quoted(name, 50)}; it has ${namesOf(operation).join(', ')}.`,
        name,
      )
    : invalidInput(`${name} must be written ${meant}: parameter names are case-sensitive.`, name);
}

function decoded(text: string): string {
  const plain = percentDecoded(text);
  if (plain === undefined) throw invalidInput('The query is not percent-encoded UTF-8.', text);
  return plain;
}

/** Name and value pairs, each name known and given once, each value not empty. */
function pairsOf(operation: Operation, query: string): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    // A plus stays a plus: no parameter can hold a space, but an offset such as +01:00 may come unencoded.
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : decoded(pair.slice(equals + 1));
    if (!namesOf(operation).includes(name)) throw unknownParameter(operation, name);
    if (pairs.has(name)) throw invalidInput(`${name} is given more than once.`, value);
    if (value === '') throw invalidInput(`${name} has no value; leave it out instead.`, pair);
    pairs.set(name, value);
  }
  return pairs;
}

function pageSizeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const size = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (size >= 1 && size <= limits.pageSize) return size;
  throw invalidInput(`MaxResultsPerPage must be a whole number from 1 to ${limits.pageSize}.`, text);
}

function boundOf(name: string, text: string | undefined): Bound | undefined {
  if (text === undefined) return undefined;
  // Events are dated to the millisecond, so rounding up keeps the lower bound inclusive and the upper one exclusive.
  const at = parseInstant(text, 'up');
  if (at !== undefined) return { at, text };
  throw invalidInput(
    `${name} must be an ISO 8601 date-time with Z or an offset, such as 2025-01-31T00:00:00Z, or a date.`,
    text,
  );
}

/**
 * Reads an operation's query string (specification, section 4). Names are case-sensitive.
 * Throws a Refusal (400) for a name that is unknown, wrongly cased or repeated and for a value that is empty or malformed.
 */
function readParameters(operation: Operation, query: string): Parameters {
  const pairs = pairsOf(operation, query);
  const bound = (name: string | undefined) => (name === undefined ? undefined : boundOf(name, pairs.get(name)));
  return {
    pageSize: pageSizeOf(pairs.get('MaxResultsPerPage')),
    after: bound(operation.range?.after),
    before: bound(operation.range?.before),
    token: pairs.get('NextToken'),
  };
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
  /** How many results they held. */
  readonly results: number;
}

export interface TokenRules {
  readonly tokens: NextTokens;
  /** How long a token is taken, milliseconds; undefined: for ever. */
  readonly tokenLifeMs: number | undefined;
}

function subjectOf({ operation, rawSubject }: Route): string | undefined {
  const parameter = operation.pathParameter;
  if (parameter === undefined || rawSubject === undefined) return undefined;
  const subject = percentDecoded(rawSubject);
  if (subject === undefined) throw invalidInput(`${parameter.name} is not percent-encoded UTF-8.`, rawSubject);
  if (subject === '' || parameter.pattern?.test(subject) === false) {
    throw invalidInput(`${parameter.name} must be ${parameter.format}.`, subject);
  }
  return subject;
}

/** Throws a Refusal for bounds that the specification doesn't allow (sections 4.1 and 4.2). */
function checkBounds(range: DateRange, { after, before }: Parameters, now: number): void {
  if (before !== undefined && after === undefined && range.beforeNeedsAfter) {
    throw invalidInput(`${range.after} must also be specified whenever ${range.before} is specified.`, before.text);
  }
  for (const [name, bound] of [
    [range.after, after],
    [range.before, before],
  ] as const) {
    if (bound !== undefined && bound.at > now - limits.marginMs) {
      throw invalidInput(`${name} should be no later than ${limits.marginMs / 60_000} minutes from now.`, bound.text);
    }
  }
  if (after !== undefined && before !== undefined && before.at <= after.at) {
    throw invalidInput(`${range.before} must be later than ${range.after}.`, `${after.text} and ${before.text}`);
  }
}

function placeOf(token: string, operation: Operation, subject: string | undefined, rules: TokenRules, now: number) {
  const place = rules.tokens.read(token);
  if (place?.chain.operation !== operation.name || place.chain.subject !== subject) {
    throw invalidInput('NextToken is not valid: it must come unchanged from the same operation and path.', token);
  }
  if (rules.tokenLifeMs !== undefined && now - place.issuedAt > rules.tokenLifeMs) {
    throw tokenExpired(rules.tokenLifeMs / 60_000);
  }
  return place;
}

/** A token comes alone or with the bounds of the first request; only the page's size may change on the way. */
function continued(position: ChainPosition, range: DateRange | undefined, parameters: Parameters): PageRequest {
  const { chain, cursor, pages, results } = position;
  const { after, before, pageSize, token } = parameters;
  const given = [after, before].flatMap((bound) => bound?.text ?? []);
  if (range !== undefined && given.length > 0 && (after?.at !== chain.after || before?.at !== chain.before)) {
    throw invalidInput(
      `NextToken must be sent alone or with the same ${range.after} and ${range.before} as the first request.`,
      given.join(' and '),
    );
  }
  return { chain: { ...chain, pageSize: pageSize ?? chain.pageSize }, cursor, token, pages, results };
}

/**
 * Checks a request to an operation by all rules of the specification (section 4). `now`: when it came, milliseconds
 * since 1970. Throws a Refusal (400) that names the rule.
 */
export function readRequest(route: Route, query: string, rules: TokenRules, now: number): PageRequest {
  const { operation } = route;
  const subject = subjectOf(route);
  const parameters = readParameters(operation, query);
  const { after, before, pageSize = limits.pageSize, token } = parameters;
  if (token !== undefined) {
    return continued(placeOf(token, operation, subject, rules, now), operation.range, parameters);
  }
  if (operation.range !== undefined) checkBounds(operation.range, parameters, now);
  const chain = { operation: operation.name, subject, after: after?.at, before: before?.at, pageSize, asOf: now };
  return { chain, cursor: undefined, token: undefined, pages: 0, results: 0 };
}

/**
 * The instants that a chain asks for, or undefined where nothing can match: bounds further apart than 180 days, and a
 * lower bound that meets the default of the upper one. Without a lower bound the range begins in 1970.
 */
export function rangeOf({ after, before, asOf }: Chain, range: DateRange): InstantRange | undefined {
  // Groups have no default for the upper bound: all that opened up to the request itself, and no span to check.
  const upper = before ?? (range.beforeDefaultsToNow ? asOf - limits.marginMs : undefined);
  if (after !== undefined && upper !== undefined && upper - after > limits.maxSpanMs) return undefined;
  const from = after ?? 0;
  const to = upper ?? Math.floor(asOf) + 1;
  return from < to ? { from, to } : undefined;
}

export interface Route {
  readonly operation: Operation;
  /** The path parameter as it stands in the address, still percent-encoded; undefined where the path has none. */
  readonly rawSubject: string | undefined;
}

const table: readonly { operation: Operation; segments: readonly string[] }[] = Object.values(operations).map(
  (operation) => ({ operation, segments: operation.path.split('/') }),
);

/** Text without its percent-encoding, or undefined where that isn't valid UTF-8. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * The operation that a request asks for (specification, section 4). Paths are case-sensitive, a slash at the end makes
 * another path, and an encoded slash belongs to the segment it stands in.
 * Throws a Refusal: 404 for a path of no operation, 405 for another method than GET, 400 for one that can't be decoded.
 */
export function routeOf(method: string, path: string): Route {
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
}
