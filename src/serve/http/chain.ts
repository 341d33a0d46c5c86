import { type DateRange, limits, type Operation } from '../../sources/finances/api-v0/operations.js';
import type { InstantRange } from './ledger.js';
import { type Parameters, readParameters } from './parameters.js';
import { invalidInput, tokenExpired } from './refusal.js';
import { percentDecoded, type Route } from './routes.js';
import type { Chain, Place, Tokens } from './tokens.js';

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
  readonly tokens: Tokens;
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
function continued(place: Place, range: DateRange | undefined, parameters: Parameters): PageRequest {
  const { chain, cursor, pages, results } = place;
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
