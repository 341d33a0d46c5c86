import { parseInstant } from '../../core/numeric/instant.js';
import { quoted } from '../../core/http-server/refusal.js';
import { invalidInput } from './outcome.js';

/** A bound of a range of dates. */
export interface Bound {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As received. */
  readonly text: string;
}

/** An operation and the names of its query parameters. */
interface ParameterNames {
  readonly operation: string;
  readonly names: readonly string[];
}

function unknownParameter({ operation, names }: ParameterNames, name: string): Error {
  const intended = names.find((known) => known.toLowerCase() === name.toLowerCase());
  return intended === undefined
    ? invalidInput(`${operation} has no parameter ${quoted(name, 50)}; it has ${names.join(', ')}.`, name)
    : invalidInput(`${name} must be written ${intended}: parameter names are case-sensitive.`, name);
}

/** Decodes percent-encoding; undefined where the text isn't valid UTF-8. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  const decodedText = percentDecoded(text);
  if (decodedText === undefined) throw invalidInput('The query is not percent-encoded UTF-8.', text);
  return decodedText;
}

/**
 * Reads an operation's query string as values by name. Names are case-sensitive.
 *
 * @throws Refusal (400) for a name that is unknown, wrongly cased or repeated and for a value that is empty
 */
export function queryValues(known: ParameterNames, query: string): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    // A plus isn't decoded as a space: no parameter can contain a space, but an offset such as +01:00 may be unencoded.
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : decoded(pair.slice(equals + 1));
    if (!known.names.includes(name)) throw unknownParameter(known, name);
    if (pairs.has(name)) throw invalidInput(`${name} is given more than once.`, value);
    if (value === '') throw invalidInput(`${name} has no value; leave it out instead.`, pair);
    pairs.set(name, value);
  }
  return pairs;
}

/** @throws Refusal (400) for a text that is no date-time */
export function boundOf(name: string, text: string | undefined): Bound | undefined {
  if (text === undefined) return undefined;
  // Events are dated to the millisecond, so rounding up keeps the lower bound inclusive and the upper one exclusive.
  const at = parseInstant(text, 'up');
  if (at !== undefined) return { at, text };
  throw invalidInput(
    `${name} must be an ISO 8601 date-time with Z or an offset, such as 2025-01-31T00:00:00Z, or a date.`,
    text,
  );
}
