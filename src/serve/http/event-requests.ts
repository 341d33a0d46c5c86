import { type DateRange, limits, type Operation } from '../../sources/finances/api-v0/operations.js';
import type { InstantRange } from './ledger.js';
import { invalidInput } from './outcome.js';
import { type Bound, boundOf, pairsOf, percentDecoded } from './query-parameters.js';
import { type AskedPage, type PageRequest, positionOf } from './served-operation.js';
import type { Chain, ChainPosition } from './signed-tokens.js';

/** The parameters of a query string, each checked by itself; combinations are checked elsewhere. */
interface Parameters {
  readonly pageSize: number | undefined;
  /** Lower bound. */
  readonly after: Bound | undefined;
  /** Upper bound. */
  readonly before: Bound | undefined;
  readonly token: string | undefined;
}

/** Names of an operation's query parameters (specification, section 4, table of operations). */
function namesOf(operation: Operation): readonly string[] {
  const range = operation.range === undefined ? [] : [operation.range.after, operation.range.before];
  return ['MaxResultsPerPage', ...range, 'NextToken'];
}

function pageSizeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const size = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (size >= 1 && size <= limits.pageSize) return size;
  throw invalidInput(`MaxResultsPerPage must be a whole number from 1 to ${limits.pageSize}.`, text);
}

/**
 * Reads an operation's query string (specification, section 4). Names are case-sensitive.
 *
 * @throws Refusal (400) for a name that is unknown, wrongly cased or repeated and for a value that is empty or
 * malformed
 */
function readParameters(operation: Operation, query: string): Parameters {
  const pairs = pairsOf({ operation: operation.name, names: namesOf(operation) }, query);
  const bound = (name: string | undefined) => (name === undefined ? undefined : boundOf(name, pairs.get(name)));
  return {
    pageSize: pageSizeOf(pairs.get('MaxResultsPerPage')),
    after: bound(operation.range?.after),
    before: bound(operation.range?.before),
    token: pairs.get('NextToken'),
  };
}

function subjectOf({ pathParameter: parameter }: Operation, rawSubject: string | undefined): string | undefined {
  if (parameter === undefined || rawSubject === undefined) return undefined;
  const subject = percentDecoded(rawSubject);
  if (subject === undefined) throw invalidInput(`${parameter.name} is not percent-encoded UTF-8.`, rawSubject);
  if (subject === '' || parameter.pattern?.test(subject) === false) {
    throw invalidInput(`${parameter.name} must be ${parameter.format}.`, subject);
  }
  return subject;
}

/** @throws Refusal (400) for bounds that the specification doesn't allow (sections 4.1 and 4.2) */
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

/** Continues a chain: a token comes alone or with the bounds of the first request; only the page size may change. */
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
 * Checks a request to an operation by all rules of the specification (section 4).
 *
 * @throws Refusal (400) that names the rule
 */
export function readEventRequest(operation: Operation, { rawSubject, query, rules, now }: AskedPage): PageRequest {
  const subject = subjectOf(operation, rawSubject);
  const parameters = readParameters(operation, query);
  const { after, before, pageSize = limits.pageSize, token } = parameters;
  if (token !== undefined) {
    return continued(
      positionOf(token, { parameter: 'NextToken', operation: operation.name, subject }, rules, now),
      operation.range,
      parameters,
    );
  }
  if (operation.range !== undefined) checkBounds(operation.range, parameters, now);
  const chain = { operation: operation.name, subject, after: after?.at, before: before?.at, pageSize, asOf: now };
  return { chain, cursor: undefined, token: undefined, pages: 0, results: 0 };
}

/**
 * The range of instants of a chain; undefined where nothing can match: with bounds more than 180 days apart, or a lower
 * bound at or after the default upper one. Without a lower bound the range starts in 1970.
 */
export function rangeOf({ after, before, asOf }: Chain, range: DateRange): InstantRange | undefined {
  // Groups have no default upper bound: the range ends with the request itself, and its span isn't limited.
  const upper = before ?? (range.beforeDefaultsToNow ? asOf - limits.marginMs : undefined);
  if (after !== undefined && upper !== undefined && upper - after > limits.maxSpanMs) return undefined;
  const from = after ?? 0;
  const to = upper ?? Math.floor(asOf) + 1;
  return from < to ? { from, to } : undefined;
}
