import { definitionError } from './called.js';
import type { ApiRequest } from './definition.js';
import type { ApiAddress } from './api-address.js';

/**
 * Path and query of a request as they are sent.
 *
 * @param from path and query of the page that a link stands on
 * @throws LedgerlakeError DEFINITION for what is no request, and for a link to another host: our headers are for this one
 */
export function requestAddress(
  file: string,
  { origin, prefix }: Pick<ApiAddress, 'origin' | 'prefix'>,
  request: ApiRequest | string,
  from = '',
): string {
  if (typeof request === 'string') {
    const base = `${origin}${from === '' ? `${prefix}/` : from}`;
    const url = URL.canParse(request, base) ? new URL(request, base) : undefined;
    if (url?.origin === origin) return url.pathname + url.search;
    throw definitionError(file, 'next', `expected a link to ${origin}, got ${JSON.stringify(request.slice(0, 100))}`);
  }
  const { path, query = {} } = checked(file, request);
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return `${prefix}${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

/** JavaScript checks no types. */
function checked(file: string, request: Partial<ApiRequest> | null | undefined): ApiRequest {
  const { path, query = {} } = request ?? {};
  if (typeof path !== 'string' || !/^\/[^\s?#]*$/.test(path)) {
    const found = path === undefined ? 'nothing' : JSON.stringify(path);
    throw definitionError(file, 'first or next', `expected a path that begins with / and has no ? in it, got ${found}`);
  }
  const odd = Object.entries(query).find(
    ([, value]) => !['string', 'undefined'].includes(typeof value) && !Number.isFinite(value),
  );
  if (odd === undefined) return { path, query };
  throw definitionError(
    file,
    'first or next',
    `expected query.${odd[0]} to be a text or a number, got ${typeof odd[1]}`,
  );
}
