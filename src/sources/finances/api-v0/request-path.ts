import { LedgerlakeError, usageError } from '../../../core/errors.js';
import { isoInstant } from '../../../core/numeric/instant.js';
import { operations, type Operation, type OperationName } from './operations.js';

/** Query and path parameters by their names in the specification; dates in milliseconds since 1970. */
export type RequestParameters = Readonly<Record<string, string | number | undefined>>;

/** Query parameters of every operation. */
export interface PageParameters {
  /** Results a page, from 1 on. Left out: 100. */
  readonly MaxResultsPerPage?: number | undefined;
  /** Token of the answer before, as it came. */
  readonly NextToken?: string | undefined;
}

type Table = typeof operations;

type RangeParameters<N extends OperationName> = Table[N]['range'] extends {
  readonly after: infer After extends string;
  readonly before: infer Before extends string;
}
  ? Readonly<Partial<Record<After | Before, number | undefined>>>
  : unknown;

type PathParameters<N extends OperationName> = Table[N]['pathParameter'] extends {
  readonly name: infer P extends string;
}
  ? Readonly<Record<P, string>>
  : unknown;

/** What an operation takes, read off the table of operations: dates in milliseconds since 1970. */
export type ParametersOf<N extends OperationName> = PageParameters & RangeParameters<N> & PathParameters<N>;

/**
 * Path and query of a request (specification, section 4): what is undefined is left out, values are percent-encoded,
 * dates are ISO 8601 with milliseconds and `Z`.
 *
 * @throws LedgerlakeError MISSING_PARAMETER, status 400, where the path parameter is missing or empty (section 7); USAGE
 *   for a parameter that the operation doesn't have or a value that can't be sent
 */
export function requestPath(name: OperationName, parameters: RequestParameters): string {
  const operation: Operation = operations[name];
  const path = filledPath(operation, parameters);
  const query = Object.entries(parameters).flatMap(([parameter, value]) =>
    value === undefined || parameter === operation.pathParameter?.name
      ? []
      : [`${parameter}=${encoded(parameter, queryText(operation, parameter, value))}`],
  );
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/**
 * The parameters with which the next page is asked for: the token in the place of the dates, which it stands for, with
 * the path and the size of page of the first request (specification, section 4, common rule 2).
 */
export function followUp(name: OperationName, first: RequestParameters, token: string): RequestParameters {
  const { range }: Operation = operations[name];
  const kept = Object.entries(first).filter(([parameter]) => parameter !== range?.after && parameter !== range?.before);
  return { ...Object.fromEntries(kept), NextToken: token };
}

/** Bytes of an encoded id beyond which servers refuse the path, and no id that a service gives comes near to. */
const longestId = 2048;

/** Why nothing can be asked for by an id that the service gave; undefined where something can. */
export function unaskable(id: string): string | undefined {
  if (id === '') return 'it has none';
  if (id === '.' || id === '..') return `${id} is a step within the path`;
  const { length } = encodeURIComponent(id.toWellFormed());
  return length > longestId ? `it takes ${length} bytes of the path` : undefined;
}

function filledPath({ name, path, pathParameter }: Operation, parameters: RequestParameters): string {
  if (pathParameter === undefined) return path;
  const value = parameters[pathParameter.name] ?? '';
  if (value === '') {
    const message = `${name} needs ${pathParameter.format}: the required parameter ${pathParameter.name} is missing.`;
    throw new LedgerlakeError('MISSING_PARAMETER', message, { status: 400 });
  }
  // Servers take these for steps within the path, encoded or not, and would answer another question than the one asked.
  if (value === '.' || value === '..') throw unsendable(pathParameter.name, pathParameter.format, value);
  const segment = encoded(pathParameter.name, String(value));
  return path.replace(`{${pathParameter.name}}`, () => segment);
}

function queryText({ name, range }: Operation, parameter: string, value: string | number): string {
  switch (parameter) {
    case 'NextToken':
      return String(value);
    case 'MaxResultsPerPage':
      if (!(Number.isSafeInteger(value) && Number(value) >= 1)) {
        throw unsendable(parameter, 'a whole number from 1 and up', value);
      }
      return String(value);
    case range?.after:
    case range?.before:
      if (!(typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 8.64e15)) {
        throw unsendable(parameter, 'an instant in whole milliseconds since 1970', value);
      }
      return isoInstant(value);
    default:
      throw usageError(`Expected a parameter that ${name} has, got \`${parameter}\`: names are case-sensitive.`);
  }
}

function encoded(parameter: string, value: string): string {
  // Half of a surrogate pair, which has no UTF-8.
  if (/\p{Surrogate}/u.test(value)) throw unsendable(parameter, 'text that can be encoded', value);
  return encodeURIComponent(value);
}

function unsendable(parameter: string, expected: string, got: unknown): LedgerlakeError {
  return usageError(`Expected ${parameter} to be ${expected}, got \`${String(got)}\` (${typeof got})`);
}

/** Whether a request path is one of an operation's, whatever is asked for. */
export function isPathOf(name: OperationName, path: string): boolean {
  const { path: template }: Operation = operations[name];
  const [own = ''] = path.split('?');
  const steps = own.split('/');
  const wanted = template.split('/');
  return steps.length === wanted.length && wanted.every((step, at) => step.startsWith('{') || step === steps[at]);
}

/** The window that a request path asks an operation for; undefined for a path of another one, or without both dates. */
export function windowIn(name: OperationName, path: string): { start: number; end: number } | undefined {
  const { range, path: own }: Operation = operations[name];
  const [before = '', query = ''] = path.split('?');
  if (range === undefined || before !== own) return undefined;
  const parameters = new URLSearchParams(query);
  const start = Date.parse(parameters.get(range.after) ?? '');
  const end = Date.parse(parameters.get(range.before) ?? '');
  return start < end ? { start, end } : undefined;
}
