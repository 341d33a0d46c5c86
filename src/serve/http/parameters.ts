import { limits, type Operation } from '../../sources/finances/api-v0/operations.js';
import { parseInstant } from '../../core/numeric/instant.js';
import { quoted } from '../../core/http-server/refusal.js';
import { invalidInput } from './refusal.js';
import { percentDecoded } from './routes.js';

/** A bound of a range of dates. */
export interface Bound {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As it came. */
  readonly text: string;
}

/** What a query string says, checked one by one; how the parameters go together is checked elsewhere. */
export interface Parameters {
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
export function readParameters(operation: Operation, query: string): Parameters {
  const pairs = pairsOf(operation, query);
  const bound = (name: string | undefined) => (name === undefined ? undefined : boundOf(name, pairs.get(name)));
  return {
    pageSize: pageSizeOf(pairs.get('MaxResultsPerPage')),
    after: bound(operation.range?.after),
    before: bound(operation.range?.before),
    token: pairs.get('NextToken'),
  };
}
