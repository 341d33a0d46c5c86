import {
  type EventRange,
  eventLimits,
  type EventOperation,
  type EventOperationName,
  eventOperations,
  type PathParameter,
} from '../../sources/finances/api-v0/operations.js';
import { eventLists } from '../../sources/finances/api-v0/event-records.js';
import type { BackendItem, BackendPage } from '../operation/backend-page.js';
import type { Window } from '../../core/windows.js';
import type { EventBackend } from './event-backend.js';
import { invalidInput, requestRefusal } from '../operation/outcome.js';
import { type Bound, boundOf, queryValues, percentDecoded } from '../operation/query-parameters.js';
import {
  type UncheckedRequest,
  type PageContents,
  type CheckedRequest,
  firstRequest,
  positionOf,
  type ReadPage,
  type ServedOperation,
} from '../operation/served-operation.js';
import type { Chain, ChainPosition } from '../operation/signed-tokens.js';

/** The parameters of a query string, each checked alone; `readEventRequest` checks their combination. */
interface EventParameters {
  readonly pageSize: number | undefined;
  /** Lower bound. */
  readonly after: Bound | undefined;
  /** Upper bound. */
  readonly before: Bound | undefined;
  readonly token: string | undefined;
}

/** The query parameters of an operation besides the token, by the specification's table of operations (section 4). */
function parameterNames({ range }: EventOperation): readonly string[] {
  return ['MaxResultsPerPage', ...(range === undefined ? [] : [range.after, range.before])];
}

function pageSizeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const size = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (size >= 1 && size <= eventLimits.pageSize) return size;
  throw invalidInput(`MaxResultsPerPage must be a whole number from 1 to ${eventLimits.pageSize}.`, text);
}

/**
 * Reads an operation's query string (specification, section 4). Names are case-sensitive.
 * Throws a Refusal (400) for a name that is unknown, wrongly cased or repeated and for a value that is empty or malformed.
 */
function readParameters(operation: EventOperation, query: string): EventParameters {
  const values = queryValues({ operation: operation.name, names: [...parameterNames(operation), 'NextToken'] }, query);
  const bound = (name: string | undefined) => (name === undefined ? undefined : boundOf(name, values.get(name)));
  return {
    pageSize: pageSizeOf(values.get('MaxResultsPerPage')),
    after: bound(operation.range?.after),
    before: bound(operation.range?.before),
    token: values.get('NextToken'),
  };
}

function subjectOf({ pathParameter: parameter }: EventOperation, rawSubject: string | undefined): string | undefined {
  if (parameter === undefined || rawSubject === undefined) return undefined;
  const subject = percentDecoded(rawSubject);
  if (subject === undefined) throw invalidInput(`${parameter.name} is not percent-encoded UTF-8.`, rawSubject);
  if (subject === '' || parameter.pattern?.test(subject) === false) {
    throw invalidInput(`${parameter.name} must be ${parameter.format}.`, subject);
  }
  return subject;
}

/** Throws a Refusal for bounds that the specification doesn't allow (sections 4.1 and 4.2). */
function checkBounds(range: EventRange, { after, before }: EventParameters, now: number): void {
  if (before !== undefined && after === undefined && range.beforeNeedsAfter) {
    throw invalidInput(`${range.after} must also be specified whenever ${range.before} is specified.`, before.text);
  }
  for (const [name, bound] of [
    [range.after, after],
    [range.before, before],
  ] as const) {
    if (bound !== undefined && bound.at > now - eventLimits.marginMs) {
      throw invalidInput(
        `${name} should be no later than ${eventLimits.marginMs / 60_000} minutes from now.`,
        bound.text,
      );
    }
  }
  if (after !== undefined && before !== undefined && before.at <= after.at) {
    throw invalidInput(`${range.before} must be later than ${range.after}.`, `${after.text} and ${before.text}`);
  }
}

/** The request of a token, which is sent alone or with the bounds of the first request. Only the page size may change. */
function nextRequest(
  position: ChainPosition,
  range: EventRange | undefined,
  parameters: EventParameters,
): CheckedRequest {
  const { chain } = position;
  const { after, before, pageSize, token } = parameters;
  const bounds = [after, before].flatMap((bound) => bound?.text ?? []);
  if (range !== undefined && bounds.length > 0 && (after?.at !== chain.after || before?.at !== chain.before)) {
    throw invalidInput(
      `NextToken must be sent alone or with the same ${range.after} and ${range.before} as the first request.`,
      bounds.join(' and '),
    );
  }
  return { ...position, chain: { ...chain, pageSize: pageSize ?? chain.pageSize }, token };
}

/**
 * Checks a request to an operation by all rules of the specification (section 4). Throws a Refusal (400) that names the
 * rule.
 */
function readEventRequest(
  operation: EventOperation,
  { rawSubject, query, rules, now }: UncheckedRequest,
): CheckedRequest {
  const subject = subjectOf(operation, rawSubject);
  const parameters = readParameters(operation, query);
  const { after, before, pageSize = eventLimits.pageSize, token } = parameters;
  if (token !== undefined) {
    const owner = { parameter: 'NextToken', operation: operation.name, subject };
    return nextRequest(positionOf(token, owner, rules, now), operation.range, parameters);
  }
  if (operation.range !== undefined) checkBounds(operation.range, parameters, now);
  const chain = { operation: operation.name, subject, after: after?.at, before: before?.at, pageSize, asOf: now };
  return firstRequest(chain);
}

/**
 * The instants that a chain asks for, or undefined where nothing can match: bounds further apart than 180 days, and a
 * lower bound that meets the default of the upper one. Without a lower bound the range begins in 1970.
 */
function rangeOf({ after, before, asOf }: Chain, range: EventRange): Window | undefined {
  // Groups have no default for the upper bound: all that opened up to the request itself, and no span to check.
  const upper = before ?? (range.beforeDefaultsToNow ? asOf - eventLimits.marginMs : undefined);
  if (after !== undefined && upper !== undefined && upper - after > eventLimits.maxSpanMs) return undefined;
  const start = after ?? 0;
  const end = upper ?? Math.floor(asOf) + 1;
  return start < end ? { start, end } : undefined;
}

const emptyRange: Window = { start: 0, end: 0 };

/** The question for all groups or events in a chain's range of dates. */
function inRange(
  { range }: { range: NonNullable<EventOperation['range']> },
  table: 'groups' | 'events',
): ReadPage<EventBackend> {
  return async (backend, chain, query) => {
    const instants = rangeOf(chain, range);
    return instants === undefined ? { items: [], next: undefined } : backend[table](instants, query);
  };
}

async function requirePage(
  page: Promise<BackendPage | undefined>,
  { name }: PathParameter,
  subject: string,
): Promise<BackendPage> {
  const found = await page;
  if (found === undefined) throw requestRefusal(404, `There is no resource with this ${name}.`, subject);
  return found;
}

/** The question to the backend for each operation. */
const questions: Readonly<Record<EventOperationName, ReadPage<EventBackend>>> = {
  ListFinancialEventGroups: inRange(eventOperations.ListFinancialEventGroups, 'groups'),
  ListFinancialEvents: inRange(eventOperations.ListFinancialEvents, 'events'),
  ListFinancialEventsByGroupId: (backend, chain, query) => {
    const { subject = '' } = chain;
    const { pathParameter, range: rules } = eventOperations.ListFinancialEventsByGroupId;
    // Without bounds it is the whole group, with events newer than the default upper bound.
    const range = chain.after === undefined ? undefined : (rangeOf(chain, rules) ?? emptyRange);
    return requirePage(backend.eventsOfGroup(subject, query, range), pathParameter, subject);
  },
  ListFinancialEventsByOrderId: (backend, { subject = '' }, query) => {
    const { pathParameter } = eventOperations.ListFinancialEventsByOrderId;
    return requirePage(backend.eventsOfOrder(subject, query), pathParameter, subject);
  },
};

/** `{"list":[event,…],…}`: every list of the model in the model's order, then the lists unknown to it. */
function eventsJson(items: readonly BackendItem[], additionalLists: readonly string[]): string {
  const lists = new Map<string, string[]>([...Object.keys(eventLists), ...additionalLists].map((list) => [list, []]));
  for (const { list, json } of items) {
    const events = lists.get(list);
    if (events === undefined) lists.set(list, [json]);
    else events.push(json);
  }
  return `{${[...lists].map(([list, events]) => `${JSON.stringify(list)}:[${events.join(',')}]`).join(',')}}`;
}

/**
 * The body of a page: `{"payload":{"NextToken"?,…}}`. Each item's JSON is sent as the backend has it, byte for byte, in
 * the backend's order. `additionalLists`: lists that a body of events has even when they are empty.
 */
export function pageBody(
  result: EventOperation['result'],
  items: readonly BackendItem[],
  nextToken: string | undefined,
  additionalLists: readonly string[] = [],
): string {
  const token = nextToken === undefined ? '' : `"NextToken":${JSON.stringify(nextToken)},`;
  const results =
    result === 'FinancialEvents' ? eventsJson(items, additionalLists) : `[${items.map(({ json }) => json).join(',')}]`;
  return `{"payload":{${token}"${result}":${results}}}`;
}

/** The operations of Finances v0 (specification, sections 4 and 8). */
export const servedEventOperations: readonly ServedOperation<EventBackend>[] = Object.values<EventOperation>(
  eventOperations,
).map((operation) => ({
  name: operation.name,
  path: operation.path,
  parameters: parameterNames(operation),
  tokenParameter: 'NextToken',
  rate: eventLimits.rate,
  burst: eventLimits.burst,
  read: (request) => readEventRequest(operation, request),
  pageOf: (backend, { chain, cursor }) =>
    questions[operation.name](backend, chain, { cursor, limit: chain.pageSize, asOf: chain.asOf }),
  bodyOf: ({ items = [], nextToken }: PageContents, { lists }) =>
    pageBody(operation.result, items, nextToken ?? undefined, lists),
  tooLarge: (results) =>
    invalidInput('The page exceeds 10 MB; ask for fewer results with MaxResultsPerPage.', `${results} results`),
}));
