import { LedgerlakeError, usageError } from '../../../core/errors.js';
import { isoInstant } from '../../../core/numeric/instant.js';
import type { ApiQuery } from '../selling-partner/finances-api.js';
import { eventOperations, type EventOperation, type EventOperationName } from './operations.js';

/** A query of the service: the query and path parameters of the first request, without the page size. */
export type EventQuery = ApiQuery<EventOperationName>;

export type RequestParameters = EventQuery['parameters'];

/**
 * Path and query of a request (specification, section 4): undefined values are omitted, others are percent-encoded,
 * dates are ISO 8601 with milliseconds and `Z`.
 *
 * @throws LedgerlakeError MISSING_PARAMETER, status 400, where the path parameter is missing or empty (section 7); USAGE
 *   for an id or a token that can't be encoded
 */
export function requestPath(name: EventOperationName, parameters: RequestParameters): string {
  const operation: EventOperation = eventOperations[name];
  const path = filledPath(operation, parameters);
  const query = Object.entries(parameters).flatMap(([parameter, value]) =>
    value === undefined || parameter === operation.pathParameter?.name
      ? []
      : [
          `${parameter}=${encoded(parameter, isDate(operation, parameter) ? isoInstant(Number(value)) : String(value))}`,
        ],
  );
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/**
 * The parameters of a page. After the first page the token replaces the dates, together with the path
 * and the page size of the first request (specification, section 4, common rule 2).
 */
export function pageParameters(
  { operation, parameters }: EventQuery,
  cursor: string | undefined,
  pageSize: number,
): RequestParameters {
  const sized = { ...parameters, MaxResultsPerPage: pageSize };
  if (cursor === undefined) return sized;
  const undated = Object.entries(sized).filter(([name]) => !isDate(eventOperations[operation], name));
  return { ...Object.fromEntries(undated), NextToken: cursor };
}

function filledPath({ name, path, pathParameter }: EventOperation, parameters: RequestParameters): string {
  if (pathParameter === undefined) return path;
  const value = parameters[pathParameter.name] ?? '';
  if (value === '') {
    const message = `${name} needs ${pathParameter.format}: the required parameter ${pathParameter.name} is missing.`;
    throw new LedgerlakeError('MISSING_PARAMETER', message, { status: 400 });
  }
  // Servers resolve these as path segments, encoded or not, and would answer a different request.
  if (value === '.' || value === '..') throw unsendable(pathParameter.name, pathParameter.format, value);
  const segment = encoded(pathParameter.name, String(value));
  return path.replace(`{${pathParameter.name}}`, () => segment);
}

function isDate({ range }: EventOperation, parameter: string): boolean {
  return parameter === range?.after || parameter === range?.before;
}

function encoded(parameter: string, value: string): string {
  // A lone surrogate has no UTF-8 form.
  if (/\p{Surrogate}/u.test(value)) throw unsendable(parameter, 'text that can be encoded', value);
  return encodeURIComponent(value);
}

function unsendable(parameter: string, expected: string, got: unknown): LedgerlakeError {
  return usageError(`expected ${parameter} to be ${expected}, got \`${String(got)}\` (${typeof got})`);
}
